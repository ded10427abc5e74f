"""One frontend's membership, in a process of its own that can be killed and stopped.

Started as ``python fleet_member.py <name> <log file>``, with ``NATS_SERVER`` set. While it decides
it decides anew all the time; whatever changes for it is a line of JSON in its log. SIGUSR1 hangs
the controller, SIGTERM ends it all in an orderly way.
"""

import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path

from dynamo_regime.control.fleet.fleet import Fleet
from dynamo_regime.control.fleet.nats_settings import NatsSettings
from dynamo_regime.control.fleet.records import FleetDecision, PoolSetting
from dynamo_regime.control.fleet.settings import FleetSettings
from dynamo_regime.control.reading import Latency, Quantile, Reading

SETTINGS = FleetSettings(
    bucket="test-fleet", lease_seconds=1.5, poll_seconds=0.1, report_seconds=3.0
)


def main(name: str, log: Path) -> None:
    fleet = Fleet(SETTINGS, NatsSettings.from_environment(os.environ), name, time.monotonic)
    fleet.start()
    hung, leaving = False, False

    def hang(*_: object) -> None:
        nonlocal hung
        hung = True

    def leave(*_: object) -> None:
        nonlocal leaving
        leaving = True

    signal.signal(signal.SIGUSR1, hang)
    signal.signal(signal.SIGTERM, leave)
    last: dict[str, object] = {}
    with log.open("a", buffering=1) as lines:
        for turn in itertools.count():
            if leaving:
                break
            if not hung:
                ttft = Latency(100, Quantile(0.1), Quantile(0.5))
                fleet.report(Reading(time.monotonic(), 5.0, ttft=ttft, decision_rate=10.0))
            status, reading = fleet.status(), fleet.reading()
            policy = status.policy
            now: dict[str, object] = {
                "member": status.member,
                "connected": status.connected,
                "is_decider": status.is_decider,
                "version": policy.version if policy is not None else 0,
                "temperature": policy.decision.pools[0].temperature if policy is not None else None,
                "rate": reading.decision_rate if reading is not None else None,
            }
            if now != last:
                lines.write(json.dumps(now) + "\n")
                last = now
            if status.is_decider and turn % 10 == 0:
                pool = PoolSetting(pool="prefill", temperature=turn + os.getpid(), prefill_weight=1)
                fleet.propose(FleetDecision(pools=(pool,), regime="normal", reason=status.member))
            time.sleep(0.02)
    fleet.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
