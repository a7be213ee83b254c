"""A server on a store, as users start one: for tests that ask it."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

import timestrata
from waiting import until

COMMAND = Path(sysconfig.get_path("scripts")) / "timestrata"
LISTENS = "listening on "


class Served:
    """A server's process, which can be killed and started again at the same address."""

    def __init__(self, store: Path, *words: str) -> None:
        self.store = store
        self.said = store.with_suffix(".log")
        self.words = words
        self.port = 0
        self.url = ""
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        listen = f"127.0.0.1:{self.port}"
        command = [str(COMMAND), "serve", str(self.store), "--listen", listen, *self.words]
        with self.said.open("wb") as log:
            process = self.process = subprocess.Popen(command, stderr=log)
        until(lambda: process.poll() is not None or bool(self._address()))
        assert self._address(), f"the server does not listen: {self.said.read_text()}"
        self.url = self._address()
        self.port = int(self.url.rsplit(":", 1)[1])

    def _address(self) -> str:
        for line in self.said.read_text().splitlines(keepends=True):
            if line.startswith(LISTENS) and line.endswith("\n"):
                return line.removeprefix(LISTENS).strip()
        return ""

    def kill(self) -> None:
        """Ends it without a word, as a crash does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)

    def stop(self) -> None:
        """Ends it as an operator does. What its log calls an error is a bug of ours."""
        process = self.process
        if process is not None and process.poll() is None:
            process.terminate()
            assert process.wait(60) == 0
        assert '"level":"ERROR"' not in self.said.read_text(), self.said.read_text()[-5000:]

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()


class Proxy(socketserver.ThreadingTCPServer):
    """Stands before a server, and loses answers where it is told to: the request has arrived by then."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int) -> None:
        self.behind = port
        self.loses: Callable[[bytes], bool] = lambda request: False
        self.requests: list[bytes] = []
        super().__init__(("127.0.0.1", 0), _Passing)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Passing(socketserver.BaseRequestHandler):
    """One connection: requests one way, answers the other, both as they come."""

    server: Proxy

    def handle(self) -> None:
        with socket.create_connection(("127.0.0.1", self.server.behind)) as behind:
            while True:
                request = self._request()
                if not request:
                    return
                self.server.requests.append(request)
                behind.sendall(request)
                answer = _whole(behind)
                if self.server.loses(request):
                    # The answer has come, so what was asked for is done; nobody is told.
                    return
                self.request.sendall(answer)

    def _request(self) -> bytes:
        return _whole(self.request)


def _whole(connection: socket.socket) -> bytes:
    """Reads a request or an answer with its body, whose length its head tells or whose last piece is empty."""
    read = b""
    while b"\r\n\r\n" not in read:
        piece = connection.recv(1 << 16)
        if not piece:
            return b""
        read += piece
    head, _, body = read.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
    is_chunked = b"transfer-encoding: chunked" in lines

    def is_whole() -> bool:
        if is_chunked:
            return body.endswith(b"0\r\n\r\n")
        return len(body) >= (length or 0)

    while not is_whole():
        piece = connection.recv(1 << 16)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def losing(server: Served) -> Iterator[Proxy]:
    """A proxy before a server."""
    with Proxy(server.port) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join(60)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("served") / "store"
    settings = path.with_suffix(".toml")
    key = timestrata.SigningKey.generate(path.with_suffix(".key"), "example.org/log")
    settings.write_text(f'[store]\nhistory_min = "10m"\n[topics]\nkey_file = "{key.path}"\n')
    with Served(path, "--config", str(settings)) as server:
        yield server


@pytest.fixture(params=["open", "connect"])
def either(request: pytest.FixtureRequest, served: Served, tmp_path: Path) -> Iterator[Any]:
    """A store that is open here, and one behind a server. What each test makes has names of its own."""
    if request.param == "open":
        with timestrata.open(tmp_path / "store", history_min=600) as store:
            yield store
    else:
        with timestrata.connect(served.url) as store:
            yield store
