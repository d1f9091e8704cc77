"""A real HTTP/1.1 target for tests: it does what the path says, and remembers every request it read.

`async with Target() as target` serves inside the test. `python -m tests.support.target --port 0 --log FILE` serves
as a process of its own, prints its port, and appends one JSON line per request to FILE before it answers: a witness
that survives whatever is killed beside it. It shares no code with the product.

Paths: /ok, /status/503, /slow/2.5 (seconds), /hang, /reset (RST), /retry-after/3, /large/10000000 (bytes), /echo,
/close-after-read (FIN without an answer), /first/hang and the like (the first attempt; later ones are answered at once); anything else is
404. `target.on(path, answer)` scripts a path of its own.
"""

import argparse
import asyncio
import contextlib
import enum
import os
import resource
import signal
import socket
import ssl
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple, Self, cast

import msgspec

LOGGED_HEADERS = ("dueline-run", "dueline-attempt", "dueline-token", "dueline-job", "dueline-scheduled-at")
BACKLOG = 4_096
REQUEST_BYTES_MAX = 16 * 1024 * 1024

KEY_AND_CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg04+qkuwxk0i48xPy
H/drvH43IEKwGZrIGoCE7gqEVAuhRANCAATbF3AExZws0sWDYdt2/RLDWLBp0ssk
Ezp5MlQNEOQgMU3lNRyy+fujgZ/lYFlqHduuzg6wjr0ziozcbxfHq97/
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBpDCCAUqgAwIBAgIUTSXHdFmPnt4X4B7yW6WbMxFiDoIwCgYIKoZIzj0EAwIw
HjEcMBoGA1UEAwwTZHVlbGluZSB0ZXN0IHRhcmdldDAgFw0yNjExMTUwODEwMDVa
GA8yMTI2MTAyMjA4MTAwNVowHjEcMBoGA1UEAwwTZHVlbGluZSB0ZXN0IHRhcmdl
dDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABNsXcATFnCzSxYNh23b9EsNYsGnS
yyQTOnkyVA0Q5CAxTeU1HLL5+6OBn+VgWWod267ODrCOvTOKjNxvF8er3v+jZDBi
MB0GA1UdDgQWBBSfWmrMwGw5f8u/lSSbODkEUspuDjAfBgNVHSMEGDAWgBSfWmrM
wGw5f8u/lSSbODkEUspuDjAPBgNVHRMBAf8EBTADAQH/MA8GA1UdEQQIMAaHBH8A
AAEwCgYIKoZIzj0EAwIDSAAwRQIgG4iXt35rRn3PKCVl7R37EFyG2eUFKb49K970
AXGQzqwCIQDZS0Polbkvr5BmALjrYfo275J/Dd7G9f1Ag7DYN3QFIg==
-----END CERTIFICATE-----
"""
"""For 127.0.0.1, signed by itself, valid until 2126: its own authority. The key protects nothing."""


class Hit(NamedTuple):
    """One request, read to its last byte. Header names are lower case."""

    monotonic_s: float
    unix_s: float
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Answer(NamedTuple):
    status: int = 200
    headers: Mapping[str, str] = {}
    body: bytes = b""
    delay_s: float = 0.0


class Silence(enum.Enum):
    """Ways not to answer."""

    HANG = "hang"
    RESET = "reset"
    CLOSE = "close"


Reaction = Answer | Silence | bytes | asyncio.Future[Answer]
"""What a script returns: an answer, a silence, the bytes to put on the wire as they are, or an answer still to come."""

_OK = Answer(body=b"ok")


class Target:
    """Listens on 127.0.0.1 from entry to exit. `hits` holds every request in order of arrival."""

    def __init__(
        self,
        *,
        port: int = 0,
        log: int | None = None,
        remember: bool = True,
        tls: bool = False,
        certificate: str = KEY_AND_CERTIFICATE,
    ) -> None:
        self.port = port
        self.hits: list[Hit] = []
        self.hits_total = 0
        self.connections_total = 0
        self.connections: set[_Connection] = set()
        self.scripts: dict[str, Callable[[Hit], Reaction]] = {}
        self._log = log
        self._remember = remember
        self._tls = tls
        self._certificate = certificate
        self._server: asyncio.Server | None = None
        self._arrived = asyncio.Event()
        self._all_lost = asyncio.Event()
        self._all_lost.set()
        self._lost = asyncio.Event()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def on(self, path: str, answer: Callable[[Hit], Reaction]) -> None:
        """From now on, requests for exactly this path (without its query) are answered by `answer(hit)`."""
        self.scripts[path] = answer

    def hits_on(self, path: str) -> list[Hit]:
        return [hit for hit in self.hits if hit.path == path]

    async def wait_for_hits(self, count: int, *, timeout_s: float = 30.0) -> None:
        """Return once `count` requests have arrived since entry."""
        async with asyncio.timeout(timeout_s):
            while self.hits_total < count:
                self._arrived.clear()
                await self._arrived.wait()

    async def wait_for_ends(self, left: int = 0) -> None:
        """Return once no more than `left` connections are open."""
        async with asyncio.timeout(30):
            while len(self.connections) > left:
                self._lost.clear()
                await self._lost.wait()

    async def hang_up(self) -> None:
        """End every open connection with a FIN, and return once that has been sent."""
        for connection in list(self.connections):
            connection.transport.close()
        await self._all_lost.wait()

    def stop_listening(self) -> None:
        """Refuse new connections from now on; the open ones stay."""
        assert self._server is not None
        self._server.close()

    async def __aenter__(self) -> Self:
        raise_descriptor_limit()
        loop = asyncio.get_running_loop()
        context = self._tls_context() if self._tls else None
        self._server = await loop.create_server(
            lambda: _Connection(self, loop), "127.0.0.1", self.port, backlog=BACKLOG, ssl=context
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self.stop_listening()
        for connection in list(self.connections):
            connection.transport.abort()
        await self._all_lost.wait()
        await self._server.wait_closed()

    def _tls_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with tempfile.NamedTemporaryFile("w") as certificate:
            certificate.write(self._certificate)
            certificate.flush()
            context.load_cert_chain(certificate.name)
        return context

    def open(self, connection: "_Connection") -> int:
        """Note a new connection, and say its number."""
        self.connections_total += 1
        self.connections.add(connection)
        self._all_lost.clear()
        return self.connections_total

    def lose(self, connection: "_Connection") -> None:
        self.connections.discard(connection)
        self._lost.set()
        if not self.connections:
            self._all_lost.set()

    def receive(self, hit: Hit) -> Reaction:
        """Note the hit, log first, then decide the reaction."""
        if self._log is not None:
            os.write(self._log, _log_line(hit))
        if self._remember:
            self.hits.append(hit)
        self.hits_total += 1
        self._arrived.set()
        script = self.scripts.get(hit.path.partition("?")[0])
        return script(hit) if script is not None else react(hit)


def react(hit: Hit) -> Reaction:
    """The reaction that the path itself asks for."""
    name, _, argument = hit.path.partition("?")[0].removeprefix("/").partition("/")
    if name == "first":
        return react(hit._replace(path=f"/{argument}")) if hit.headers.get("dueline-attempt") == "1" else _OK
    match name:
        case "ok":
            return _OK
        case "status":
            return Answer(status=int(argument))
        case "slow":
            return Answer(body=b"slow", delay_s=float(argument))
        case "hang":
            return Silence.HANG
        case "reset":
            return Silence.RESET
        case "close-after-read":
            return Silence.CLOSE
        case "retry-after":
            return Answer(status=503, headers={"Retry-After": argument})
        case "large":
            return Answer(body=b"x" * int(argument))
        case "echo":
            return Answer(headers={"Content-Type": "application/octet-stream"}, body=hit.body)
        case _:
            return Answer(status=404)


class _Connection(asyncio.Protocol):
    """Reads one request at a time; the next one, already here or not, waits for the answer to this one."""

    transport: asyncio.Transport

    def __init__(self, target: Target, loop: asyncio.AbstractEventLoop) -> None:
        self._target = target
        self._loop = loop
        self._unread = b""
        self._answering = False
        self._number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._number = self._target.open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._target.lose(self)

    def data_received(self, data: bytes) -> None:
        self._unread = self._unread + data if self._unread else data
        self._read_requests()

    def _read_requests(self) -> None:
        while not self._answering and (end := self._unread.find(b"\r\n\r\n")) >= 0:
            lines = self._unread[:end].decode("latin-1").split("\r\n")
            headers: dict[str, str] = {}
            for line in lines[1:]:
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            body_end = end + 4 + int(headers.get("content-length", "0"))
            if body_end > REQUEST_BYTES_MAX or "transfer-encoding" in headers:
                self._give(lines[0], Answer(status=411))
                return
            if len(self._unread) < body_end:
                return
            method, path, _ = lines[0].split(" ", 2)
            body = self._unread[end + 4 : body_end]
            self._unread = self._unread[body_end:]
            hit = Hit(time.monotonic(), time.time(), self._number, method, path, headers, body)
            self._give(method, self._target.receive(hit))

    def _give(self, method: str, reaction: Reaction) -> None:
        if reaction is Silence.HANG:
            self._answering = True
        elif reaction is Silence.CLOSE:
            self._answering = True
            self.transport.close()
        elif reaction is Silence.RESET:
            self._answering = True
            peer: socket.socket = self.transport.get_extra_info("socket")
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        elif isinstance(reaction, bytes):
            self.transport.write(reaction)
        elif isinstance(reaction, asyncio.Future):
            self._answering = True
            reaction.add_done_callback(lambda answer: self._give_late(_encode(method, answer.result())))
        elif isinstance(reaction, Answer):
            wire = _encode(method, reaction)
            if reaction.delay_s > 0:
                self._answering = True
                self._loop.call_later(reaction.delay_s, self._give_late, wire)
            else:
                self.transport.write(wire)

    def _give_late(self, wire: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(wire)
            self._answering = False
            self._read_requests()


def _encode(method: str, answer: Answer) -> bytes:
    lines = [f"HTTP/1.1 {answer.status} Because"]
    lines += [f"{name}: {value}" for name, value in answer.headers.items()]
    lines.append(f"Content-Length: {len(answer.body)}\r\n\r\n")
    head = "\r\n".join(lines).encode("latin-1")
    return head if method == "HEAD" else head + answer.body


def _log_line(hit: Hit) -> bytes:
    line: dict[str, object] = {"t": hit.unix_s, "method": hit.method, "path": hit.path}
    for name in LOGGED_HEADERS:
        line[name] = hit.headers.get(name)
    return msgspec.json.encode(line) + b"\n"


def raise_descriptor_limit() -> None:
    """Two thousand connections do not fit under the usual soft limit of 1,024 descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """A port that refuses connections, and that nobody else can get meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextlib.contextmanager
def deaf_port() -> Iterator[int]:
    """A port that never answers: its queue is full, and the kernel drops what comes."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(server.getsockname())
        yield server.getsockname()[1]


async def _serve(port: int, log: int | None) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGINT, ended.set)
    async with Target(port=port, log=log, remember=False) as target:
        print(target.port, flush=True)
        await ended.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", help="append one JSON line per request to this file")
    arguments = parser.parse_args()
    log = None if arguments.log is None else os.open(arguments.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        import uvloop
    except ImportError:
        asyncio.run(_serve(arguments.port, log))
    else:
        uvloop.run(_serve(arguments.port, log))


if __name__ == "__main__":
    main()
