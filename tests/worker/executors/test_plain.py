"""Calls over plain connections: what is sent and understood is what libcurl sends and understands, and the connections are well kept."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import pytest

from dueline.engine.execution.exchange import CallOptions, HttpCall, HttpFailure, HttpReply
from dueline.worker.executors import http, links
from dueline.worker.executors.headers import RETRY_AFTER_S_MAX, retry_after_s
from dueline.worker.executors.links import Links
from dueline.worker.executors.plain import BODY_BYTES_MAX, PlainRequest, Responses, plain_request
from dueline.worker.executors.transfer import Transfer
from tests.support.calling import Caller
from tests.support.target import Target

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH_2 = b"Content-Length: 2\r\n\r\n"


@pytest.fixture
async def caller(patient: None) -> AsyncIterator[Caller]:
    """Here every test says for itself which way it calls."""
    del patient
    with contextlib.closing(Caller()) as caller:
        yield caller


@contextmanager
def through_libcurl() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "plain_request", lambda _: None)
        yield


def test_a_request_is_one_piece() -> None:
    call = HttpCall("k", "POST", "http://a-b.example:8080/x?y=1&z", ("X-A: 1",), b"{}", 1, run_headers="r: 1\r\nt: 2")
    wire = b"POST /x?y=1&z HTTP/1.1\r\nHost: a-b.example:8080\r\nUser-Agent: dueline\r\nAccept: */*\r\n"
    wire += b"X-A: 1\r\nr: 1\r\nt: 2\r\nContent-Length: 2\r\n\r\n{}"
    assert plain_request(call) == PlainRequest("a-b.example:8080", wire)


USUAL: list[tuple[str, str, tuple[str, ...], bytes | None]] = [
    ("GET", "/", (), None),
    ("DELETE", "/a/b.c/d...e?f=../g", (), None),
    ("POST", "/", (), None),
    ("PUT", "/", (), b""),
    ("PATCH", "/a%20b/~c;d=e,f:g@h!$&'()*+", (), b"x"),
    ("OPTIONS", "/?a=b/c?d", (), None),
    ("GET", "/", (), b"with a body"),
    ("POST", "/", ("User-Agent: mine", "ACCEPT: text/plain"), b"{}"),
    ("POST", "/", ("X-A: two  spaces", "Cookie: a=b", "Authorization: Basic eA=="), b"{}"),
    ("POST", "/", ("Content-Type: a/b",), b"x" * BODY_BYTES_MAX),
]
LEFT: list[tuple[str, str, tuple[str, ...], bytes | None]] = [
    ("HEAD", "/", (), None),
    ("PURGE", "/", (), None),
    ("GET", "", (), None),
    ("GET", "?a=b", (), None),
    ("GET", "/#fragment", (), None),
    ("GET", "/a/../b", (), None),
    ("GET", "/a/./b", (), None),
    ("GET", "/a/%2E%2e/b", (), None),
    ("GET", "/[a]", (), None),
    ("POST", "/", (), b"x" * (BODY_BYTES_MAX + 1)),
    ("POST", "/", ("Host: elsewhere",), b"{}"),
    ("POST", "/", ("Connection: close",), b"{}"),
    ("POST", "/", ("Expect: 100-continue",), b"{}"),
    ("POST", "/", ("X-Empty:",), b"{}"),
    ("POST", "/", ("X-Empty;",), b"{}"),
]
URLS_LEFT = ["https://a/", "http://a:80/", "http://a:080/", "http://A/", "http://[::1]/", "http://u@a/", "http://a\\b/"]
URLS_LEFT += ["http://a/\r\nX: y", "http://a/ ", "http://a:/", "http://-a/", "http://a./", "http://\u00e4/"]


@pytest.mark.parametrize(("method", "path", "headers", "body"), [*USUAL, *LEFT])
async def test_what_arrives_is_what_libcurl_sends(
    caller: Caller, target: Target, method: str, path: str, headers: tuple[str, ...], body: bytes | None
) -> None:
    url = target.url + path
    call = caller.a_call(0, method, url, body, headers=headers, run_headers="dueline-run: 1")
    assert (plain_request(call) is not None) == ((method, path, headers, body) in USUAL)
    told = partial(caller.call, url, method, body, headers=headers, run_headers="dueline-run: 1")
    assert (await told()).status == (await told()).status
    with through_libcurl():
        await told()
    first, again, libcurls = ((hit.method, hit.path, list(hit.headers.items()), hit.body) for hit in target.hits)
    assert first == again == libcurls


@pytest.mark.parametrize("url", URLS_LEFT)
def test_a_url_that_may_mean_something_else_is_left_to_libcurl(url: str) -> None:
    assert plain_request(HttpCall("k", "GET", url, (), None, 1)) is None


@pytest.mark.parametrize("line", ["X: a\r\nY: b", "X: a\n", "X : a", " X: a", "X: \u00e4", "X: \0", "X", "X: a\r"])
def test_a_header_line_in_doubt_is_left_to_libcurl(line: str) -> None:
    assert plain_request(HttpCall("k", "GET", "http://a/", ("A: b", line), None, 1)) is None


RESPONSES = {
    "usual": OK + b"Content-Type: a/b\r\n" + LENGTH_2 + b"ok",
    "without a reason": b"HTTP/1.1 200\r\n" + LENGTH_2 + b"ok",
    "of HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + LENGTH_2 + b"ok",
    "kept with HTTP/1.0": b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH_2 + b"ok",
    "the last": OK + b"Connection: close\r\n" + LENGTH_2 + b"ok",
    "nothing": b"HTTP/1.1 204 None\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not\r\nContent-Length: 2\r\n\r\n",
    "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nX: y\r\n\r\n",
    "chunked with a length": OK + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "after others": b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Early\r\nX-A: early\r\n\r\n" + OK + LENGTH_2 + b"ok",
    "with bare line ends": b"HTTP/1.1 200 OK\nContent-Type: a/b\nContent-Length: 2\n\nok",
    "with odd values": OK + b"Content-Type: \xff\x07a/b \r\n" + LENGTH_2 + b"ok",
    "with a folded header": OK + b"X-A: a\r\n b\r\n" + LENGTH_2 + b"ok",
    "with more than was asked for": OK + LENGTH_2 + b"okHTTP/1.1 500 Bad\r\nContent-Length: 0\r\n\r\n",
    "with garbage after it": OK + LENGTH_2 + b"okgarbage",
    "a redirect": b"HTTP/1.1 302 Away\r\nLocation: ../b?c\r\nContent-Length: 0\r\n\r\n",
    "a redirect elsewhere": b"HTTP/1.1 307 Away\r\nLocation: http://b.example/c\r\nContent-Length: 0\r\n\r\n",
    "a redirect to nowhere": b"HTTP/1.1 302 Away\r\nLocation: http://[nowhere\r\nContent-Length: 0\r\n\r\n",
    "a place that is no redirect": b"HTTP/1.1 201 Made\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
    "asking for time": b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
    "asking for none": b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
    "asking for what nobody knows": b"HTTP/1.1 503 Busy\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n",
    "asking for no time in success": OK + b"Retry-After: 7\r\n" + LENGTH_2 + b"ok",
    "an odd status": b"HTTP/1.1 999 Odd\r\n" + LENGTH_2 + b"ok",
    "garbage": b"garbage\r\n\r\n",
    "of another protocol": b"HTTP/3 200 OK\r\n\r\n",
    "of two lengths": OK + b"Content-Length: 3\r\n" + LENGTH_2 + b"okk",
    "of a negative length": OK + b"Content-Length: -2\r\n\r\nok",
    "with bad chunks": OK + b"Transfer-Encoding: chunked\r\n\r\nz\r\n",
}
ENDED = {
    "by the end": OK + b"Content-Type: a/b\r\n\r\nok",
    "within the body": OK + b"Content-Length: 3\r\n\r\nok",
    "within a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nok",
    "before it": b"",
}


def told(reply: HttpReply) -> tuple[object, ...]:
    return (reply.status, reply.failure, reply.body if reply.status else b"", reply.retry_after, reply.headers)


@pytest.mark.parametrize(
    "options", [CallOptions(), CallOptions(keep=frozenset({"x-a", "location"}))], ids=["usual", "keeping"]
)
@pytest.mark.parametrize("wire", [pytest.param(wire, id=name.replace(" ", "-")) for name, wire in RESPONSES.items()])
async def test_what_is_understood_is_what_libcurl_understands(
    caller: Caller, target: Target, wire: bytes, options: CallOptions
) -> None:
    """And the call after it gets its own response."""
    target.on("/a/wire", lambda _: wire)
    replies: list[HttpReply] = []
    for through in (contextlib.nullcontext, through_libcurl):
        with through():
            call = partial(caller.call, f"{target.url}/a/wire", "POST", b"{}", options=options)
            replies += [await call(), await call()]
            assert (await caller.call(f"{target.url}/ok", "POST", b"{}")).body == b"ok"
    assert [told(reply) for reply in replies] == [told(replies[-1])] * 4
    assert all(reply.detail for reply in replies if reply.failure)


@asynccontextmanager
async def ending_with(wire: bytes) -> AsyncIterator[str]:
    """Answers whatever comes with these bytes, and ends the connection."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(wire)
        writer.close()
        await writer.wait_closed()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


@pytest.mark.parametrize(
    "wire", [pytest.param(wire, id=name.replace(" ", "-")) for name, wire in (ENDED | RESPONSES).items()]
)
async def test_a_connection_that_ends_is_understood_as_by_libcurl(caller: Caller, wire: bytes) -> None:
    async with ending_with(wire) as url:
        plain = await caller.call(url, "POST", b"{}")
        with through_libcurl():
            assert told(plain) == told(await caller.call(url, "POST", b"{}"))


async def test_half_a_head_is_no_response(caller: Caller) -> None:
    """libcurl takes it for one."""
    async with ending_with(OK + b"Content-Ty") as url:
        assert (await caller.call(url, "POST", b"{}")).failure is HttpFailure.PROTOCOL
        with through_libcurl():
            assert (await caller.call(url, "POST", b"{}")).status == 200


@pytest.mark.parametrize("wire", [pytest.param(wire, id=name.replace(" ", "-")) for name, wire in RESPONSES.items()])
def test_a_response_is_the_same_in_pieces(wire: bytes) -> None:
    def read(pieces: list[bytes]) -> tuple[object, ...]:
        responses = Responses()
        with contextlib.suppress(Exception):
            for piece in pieces:
                responses.feed(piece)
        return responses.status, responses.body, responses.is_complete, responses.is_reusable

    assert read([wire]) == read([wire[at : at + 1] for at in range(len(wire))])


async def test_what_comes_unasked_ends_the_connection(caller: Caller, target: Target) -> None:
    """It would be taken for the response to the next call."""
    assert (await caller.call(f"{target.url}/ok")).status == 200
    (connection,) = target.connections
    connection.transport.write(b"HTTP/1.1 500 Poison\r\nContent-Length: 0\r\n\r\n")
    await target.wait_for_ends()
    assert (await caller.call(f"{target.url}/ok")).status == 200
    assert target.connections_total == 2


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections take a few bytes at a time."""
    take_connection = Transfer.take_connection

    def take_narrow(transfer: Transfer) -> tuple[int, socket.socket]:
        fd, connected = take_connection(transfer)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        return fd, connected

    monkeypatch.setattr(Transfer, "take_connection", take_narrow)


@pytest.mark.usefixtures("narrow")
async def test_a_request_that_does_not_go_out_at_once_goes_out_whole(caller: Caller, target: Target) -> None:
    body = os.urandom(BODY_BYTES_MAX)
    for _ in range(3):
        assert (await caller.call(f"{target.url}/echo", "POST", body)).body == body
    assert target.connections_total == 1


@pytest.mark.usefixtures("narrow")
async def test_a_response_that_does_not_wait_for_the_request_is_the_last(caller: Caller) -> None:
    """The rest of the request would be taken for the beginning of the next one."""
    heads = []
    over = asyncio.Event()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await over.wait()
        writer.close()

    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    async with await asyncio.start_server(refuse, sock=listener, limit=2_048) as server:
        assert [(await caller.call(url, "POST", b"x" * BODY_BYTES_MAX)).status for _ in range(2)] == [413, 413]
        assert len(heads) == 2
        over.set()
        server.close()
        await server.wait_closed()


async def test_a_connection_that_broke_before_the_request_is_replaced(
    caller: Caller, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nobody had time to hear of it: nothing was sent."""
    assert (await caller.call(f"{target.url}/ok")).status == 200
    (broken,) = caller.executor._links._links.values()
    serve = Links.serve
    monkeypatch.setattr(Links, "serve", lambda each, fd, what: each._links[fd] is broken or serve(each, fd, what))
    (connection,) = target.connections
    peer: socket.socket = connection.transport.get_extra_info("socket")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()
    await target.hang_up()
    assert (await caller.call(f"{target.url}/ok")).status == 200
    assert (target.hits_total, target.connections_total) == (2, 2)


async def test_connections_that_nobody_uses_are_closed(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(Caller()) as caller:
        caller.submit(f"{target.url}/slow/0.02", range(20))
        await caller.answered(20)
        await target.wait_for_ends()
        assert not caller.executor._links._idle
    monkeypatch.setattr(links, "SWEEP_S", 3_600)
    monkeypatch.setattr(links, "CONNECTION_IDLE_S_MAX", 0)
    with contextlib.closing(Caller()) as caller:
        before = target.connections_total
        assert [(await caller.call(f"{target.url}/ok")).status for _ in range(3)] == [200] * 3
        assert (target.connections_total - before, len(target.connections)) == (3, 1)


async def test_no_more_connections_are_kept_than_that(
    caller: Caller, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "IDLE_MAX", 3)
    caller.submit(f"{target.url}/slow/0.02", range(10))
    await caller.answered(10)
    await target.wait_for_ends(left=3)
    assert len(caller.executor._links._links) == 3


async def test_hosts_do_not_share_connections(caller: Caller, target: Target) -> None:
    """Also where one address has several names, and where a port begins as another one ends."""
    async with Target() as other:
        for _ in range(2):
            for url in (target.url, f"http://localhost:{target.port}", other.url):
                reply = await caller.call(f"{url}/echo", "POST", url.encode())
                assert reply.body == url.encode()
        assert (target.connections_total, other.connections_total) == (2, 1)


NOW = b"Thu, 19 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "date", "wait_s"),
    [
        (b"5", b"", 5),
        (b" 5 ", NOW, 5),
        (b"0", b"", 0),
        (b"-5", b"", 0),
        (b"99999999999", b"", RETRY_AFTER_S_MAX),
        (b"Thu, 19 Nov 2026 12:01:40 GMT", NOW, 100),
        (b"Thursday, 19-Nov-26 12:01:40 GMT", NOW, 100),
        (b"Thu Nov 19 12:01:40 2026", NOW, 100),
        (b"Thu, 19 Nov 2026 11:00:00 GMT", NOW, 0),
        (b"Fri, 20 Nov 2026 12:00:00 GMT", NOW, RETRY_AFTER_S_MAX),
        (b"Thu, 01 Jan 1970 00:00:00 GMT", b"no date", 0),
        (b"soon", NOW, 0),
        (b"", NOW, 0),
        (b"\xff", b"\xff", 0),
    ],
)
def test_how_long_a_target_wants_to_be_left_alone(value: bytes, date: bytes, wait_s: int) -> None:
    assert retry_after_s(value, date) == wait_s
