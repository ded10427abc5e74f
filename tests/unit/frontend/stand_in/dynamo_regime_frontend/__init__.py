"""Stands in for the wheel of the same name: a frontend that serves nobody.

The variable STAND_IN says how it behaves. It prints what happens to it.
"""

import json
import os
import threading

from dynamo_regime import Decisions, PoolPolicy, RegimeError, Router


class Frontend:
    def __init__(self) -> None:
        self._router = Router(temperature=0.25, prefill_weight=1.0, seed=1)
        self._ended = threading.Event()

    @staticmethod
    def start(options: str) -> "Frontend":
        print("starting on port", json.loads(options)["http_port"], flush=True)
        print("with trace", os.environ.get("DYN_REQUEST_TRACE"), flush=True)
        match os.environ.get("STAND_IN"):
            case "does not start":
                raise RegimeError("cannot listen on 0.0.0.0:8000: address in use")
            case "never starts":
                threading.Event().wait()
        return Frontend()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        if os.environ.get("STAND_IN") == "dies":
            raise RegimeError("Dynamo's frontend ended: the discovery service is gone")
        return self._ended.wait(timeout_seconds)

    def shutdown(self) -> None:
        print("shutting down", flush=True)
        if os.environ.get("STAND_IN") != "never drains":
            self._ended.set()

    def policies(self) -> list[PoolPolicy]:
        return self._router.policies()

    def swap(
        self,
        *,
        temperature: float | None = None,
        prefill_weight: float | None = None,
        pool: str | None = None,
        instance: str | None = None,
    ) -> list[PoolPolicy]:
        return self._router.swap(
            temperature=temperature, prefill_weight=prefill_weight, pool=pool, instance=instance
        )

    def recent_decisions(self, limit: int) -> Decisions:
        return self._router.recent_decisions(limit)
