"""An HTTP server on loopback whose answers a test sets."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, str]


class LoopbackServer:
    """Calls ``answer(path, query parameters)`` for every GET; None lets the client wait."""

    def __init__(self, answer: Callable[[str, dict[str, str]], Answer | None]) -> None:
        self.answer = answer
        self.headers: list[dict[str, str]] = []
        self._gone = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                outer.headers.append(dict(self.headers))
                answer = outer.answer(parts.path, query)
                if answer is None:
                    outer._gone.wait()
                    return
                status, text = answer
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._gone.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
