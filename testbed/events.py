"""The event plane's exchange: workers publish KV-cache events and load to it, routers subscribe.

Without one, every publisher of Dynamo 1.6.1 binds a socket on all of the machine's addresses,
whatever ``DYN_EVENT_PLANE_HOST`` says (that one names only the address told to others). With one,
publishers and subscribers connect, and the two sockets bound here are on loopback.
"""

import threading
from types import TracebackType
from typing import Self

import zmq

_LOOPBACK = "tcp://127.0.0.1:*"


class EventExchange:
    """Passes on every event it is sent, from a thread of its own, until the context is left."""

    def __enter__(self) -> Self:
        """Bind both sides and start passing on."""
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        publishers, subscribers = self._context.socket(zmq.XSUB), self._context.socket(zmq.XPUB)
        for side in (publishers, subscribers):
            side.set_hwm(
                0
            )  # Never drop an event: a lost one would show up as a wrong cache overlap.
            side.bind(_LOOPBACK)
        publish, subscribe = (
            side.getsockopt_string(zmq.LAST_ENDPOINT) for side in (publishers, subscribers)
        )
        self.url = f"xsub={publish} , xpub={subscribe}"
        self._thread = threading.Thread(
            target=_pass_on, args=(publishers, subscribers), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; events still under way are dropped."""
        self._context.term()
        self._thread.join()


def _pass_on(publishers: "zmq.Socket[bytes]", subscribers: "zmq.Socket[bytes]") -> None:
    try:
        zmq.proxy(publishers, subscribers)
    except zmq.ContextTerminated:
        pass
    finally:
        publishers.close(linger=0)
        subscribers.close(linger=0)
