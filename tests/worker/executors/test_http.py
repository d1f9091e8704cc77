"""The HTTP executor against a real target, over real sockets."""

import asyncio
import contextlib
import json
import sys
import threading
import time
from asyncio.subprocess import PIPE
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from unittest.mock import Mock

import msgspec
import pycurl
import pytest

from dueline.domain.limits import RESPONSE_KEPT_BYTES, RESPONSE_READ_BYTES
from dueline.worker.executors import http
from dueline.worker.executors.http import HttpCall, HttpExecutor, HttpFailure
from dueline.worker.executors.links import Links
from dueline.worker.executors.sockets import Sockets
from dueline.worker.executors.transfers import Transfers
from tests.support.calling import PATIENCE_S, Caller, OpenCaller
from tests.support.target import KEY_AND_CERTIFICATE, Answer, Hit, Reaction, Silence, Target, closed_port, deaf_port


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "GET", "OPTIONS", "PURGE", "m-search"])
@pytest.mark.parametrize("body", [b'{"a": 1}', b"", b"\x00\xff" * 1000])
async def test_method_headers_and_body_arrive(caller: Caller, target: Target, method: str, body: bytes) -> None:
    before_s = time.monotonic()
    headers = ("Content-Type: application/json", "dueline-run: r1", "Authorization: Bearer secret")
    reply = await caller.call(f"{target.url}/echo?q=1", method, body, headers=headers)
    assert (reply.status, reply.body, reply.truncated, reply.retry_after) == (200, body, False, None)
    assert before_s <= reply.started_s <= reply.finished_s <= time.monotonic()
    (hit,) = target.hits
    assert (hit.method, hit.path, hit.body) == (method, "/echo?q=1", body)
    own = {"host": f"127.0.0.1:{target.port}", "accept": "*/*", "user-agent": "dueline"}
    given = {"content-type": "application/json", "dueline-run": "r1", "authorization": "Bearer secret"}
    assert hit.headers == {**own, **given, "content-length": str(len(body))}


async def test_the_headers_of_a_run_arrive_one_by_one_beside_those_of_its_target(
    caller: Caller, target: Target
) -> None:
    """On one connection, where each call may have other headers than the one before."""
    bodies = [b"{}", b"{}", b"x" * 70_000, b"{}"]
    for number, body in enumerate(bodies):
        headers = ("Content-Type: a/b", "X-A: 1") if number != 1 else ()
        told = f"Dueline-Run: r{number}\r\ntraceparent: t{number}" if number != 3 else ""
        assert (await caller.call(f"{target.url}/ok", "POST", body, headers=headers, run_headers=told)).status == 200
    names = ("dueline-run", "traceparent", "content-type", "x-a", "expect")
    assert [tuple(hit.headers.get(name) for name in names) for hit in target.hits] == [
        ("r0", "t0", "a/b", "1", None),
        ("r1", "t1", None, None, None),
        ("r2", "t2", "a/b", "1", None),
        (None, None, "a/b", "1", None),
    ]


async def test_one_handle_serves_every_shape_of_request_in_any_order(caller: Caller, target: Target) -> None:
    shapes: list[tuple[str, bytes | None]] = [("GET", None), ("HEAD", None), ("POST", b"one"), ("HEAD", b"")]
    shapes += [("DELETE", b"two"), ("DELETE", None), ("GET", b"three"), ("POST", None), ("PUT", b"x" * 2_000_000)]
    expected = []
    for pair in [(one, other) for one in shapes for other in shapes]:
        for method, body in pair:
            reply = await caller.call(f"{target.url}/echo", method, body)
            received = b"" if method == "HEAD" else body or b""
            assert (reply.status, reply.body) == (200, received[:RESPONSE_KEPT_BYTES])
            length = str(len(body or b"")) if method != "HEAD" and (body is not None or method == "POST") else None
            expected.append((method, body or b"", length))
    assert [(hit.method, hit.body, hit.headers.get("content-length")) for hit in target.hits] == expected
    assert not any("expect" in hit.headers or "content-type" in hit.headers for hit in target.hits)
    assert len(caller.executor._transfers) == 1


async def test_what_a_response_says(caller: Caller, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every status counts; nothing is followed, kept or unpacked, and no proxy is asked."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    away = Answer(302, {"Location": f"{target.url}/ok", "Set-Cookie": "a=b", "Content-Encoding": "gzip"}, b"\x1f\x8b!")
    target.on("/away", lambda _: away)
    for _ in range(2):
        reply = await caller.call(f"{target.url}/away")
        assert (reply.status, reply.body) == (302, b"\x1f\x8b!")
    assert not any({"cookie", "accept-encoding"} & hit.headers.keys() for hit in target.hits)
    for status in (200, 204, 404, 429, 503):
        reply = await caller.call(f"{target.url}/status/{status}")
        assert (reply.status, reply.retry_after) == (status, None)
    assert (await caller.call(f"{target.url}/retry-after/3")).retry_after == "3"
    later = formatdate(time.time() + 100, usegmt=True)
    target.on("/dated", lambda _: Answer(429, {"Retry-After": later}))
    assert 60 <= int((await caller.call(f"{target.url}/dated")).retry_after or "0") <= 101


@pytest.mark.parametrize("extra_bytes", [0, 1])
@pytest.mark.parametrize("bound_bytes", [RESPONSE_KEPT_BYTES, RESPONSE_READ_BYTES, 10 * RESPONSE_READ_BYTES])
async def test_long_bodies(caller: Caller, target: Target, bound_bytes: int, extra_bytes: int) -> None:
    body_bytes = bound_bytes + extra_bytes
    reply = await caller.call(f"{target.url}/large/{body_bytes}")
    assert (reply.status, reply.truncated) == (200, body_bytes > RESPONSE_KEPT_BYTES)
    assert reply.body == b"x" * min(body_bytes, RESPONSE_KEPT_BYTES)
    assert (await caller.call(f"{target.url}/ok")).body == b"ok"
    assert target.connections_total == (2 if body_bytes > RESPONSE_READ_BYTES else 1)


URLS_REFUSED = ["", "no url", "ftp://127.0.0.1/", "file:///etc/passwd", "http://u@127.0.0.1/", "http://u:p@127.0.0.1/"]
URLS_REFUSED += ["http://127.0.0.1/\u00e4", "http://127.0.0.1/ ", "http://127.0.0.1/\r\nX: y", "http://127.0.0.1\0.a/"]
METHODS_REFUSED = ["CONNECT", "TRACE", "trace", "", "GET /", "GET\r\nX: y", "G\u00c4T", "M" * 65, "HEAD"]
LINES_REFUSED = ["X: y\r\nZ: 1", "X: y\nZ: 1", "X: \0", " X: y", "\tX: y", "", "X: \u00e4"]
LINES_REFUSED += ["Content-Length: 5", "content-length : 5", "Transfer-Encoding: chunked"]
REFUSED = [(url, "POST", "A: b") for url in URLS_REFUSED] + [("{target}", "POST", line) for line in LINES_REFUSED]
REFUSED += [("{target}", method, "A: b") for method in METHODS_REFUSED]


@pytest.mark.parametrize(("url", "method", "line"), REFUSED)
async def test_refused_calls(caller: Caller, target: Target, url: str, method: str, line: str) -> None:
    reply = await caller.call(url.format(target=target.url), method, b"{}", headers=("A: b", line))
    assert (reply.failure, target.connections_total) == (HttpFailure.INVALID, 0)


FAILING = {
    HttpFailure.INVALID: ["no url"],
    HttpFailure.DNS: ["http://nowhere.invalid/"],
    HttpFailure.CONNECT: ["http://127.0.0.1:{closed}/", "http://127.0.0.1:{deaf}/"],
    HttpFailure.TLS: ["{tls}/ok"],
    HttpFailure.TIMEOUT: ["{target}/hang", "{target}/stall", "http://127.0.0.1:{deaf}/"],
    HttpFailure.PROTOCOL: ["{target}/reset", "{target}/close-after-read", "{target}/babble"],
    HttpFailure.TOO_LARGE: ["{target}/endless"],
}


@pytest.mark.parametrize(("url", "failure"), [(url, failure) for failure, urls in FAILING.items() for url in urls])
@pytest.mark.parametrize(("method", "body"), [("POST", b"{}"), ("GET", None), ("HEAD", None)])
async def test_failures_and_the_call_after(
    open_caller: OpenCaller, target: Target, url: str, failure: HttpFailure, method: str, body: bytes | None
) -> None:
    """Each failure has its name, was sent at most once, and leaves a handle that works."""
    caller = open_caller(connect_timeout_ms=50 if "deaf" in url else 10_000)
    start = b"HTTP/1.1 200 OK\r\n"
    for path, wire in {"/stall": start, "/babble": b"no HTTP\r\n\r\n", "/endless": start + b"X: y\r\n" * 9_000}.items():
        target.on(path, lambda _, wire=wire: wire)  # type: ignore[misc]
    async with Target(tls=True) as tls:
        with closed_port() as closed, deaf_port() as deaf:
            url = url.format(target=target.url, tls=tls.url, closed=closed, deaf=deaf)
            for count, after in enumerate(("POST", "GET", "HEAD"), start=1):
                reply = await caller.call(url, method, body, ms=20 if failure is HttpFailure.TIMEOUT else 20_000)
                assert (reply.status, reply.failure, bool(reply.detail)) == (None, failure, True)
                reply = await caller.call(f"{target.url}/large/9", after)
                assert (reply.status, reply.body) == (200, b"" if after == "HEAD" else b"x" * 9)
                assert (target.hits[-1].method, target.hits[-1].body) == (after, b"")
                assert len(target.hits) <= 2 * count
        assert not tls.hits
    assert len(caller.executor._transfers) == 1


async def test_tls(open_caller: OpenCaller, tmp_path: Path) -> None:
    certificate = tmp_path / "ca.pem"
    certificate.write_text(KEY_AND_CERTIFICATE)
    caller = open_caller(ca_file=str(certificate))
    async with Target(tls=True) as target:
        assert [(await caller.call(f"{target.url}/ok")).status for _ in range(3)] == [200, 200, 200]
        assert (await caller.call(f"https://localhost:{target.port}/ok")).failure is HttpFailure.TLS
        assert [hit.connection for hit in target.hits] == [1, 1, 1]


@pytest.mark.parametrize("silence", [Silence.CLOSE, Silence.RESET])
@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies"])
@pytest.mark.parametrize(
    ("method", "body"), [("POST", b"{}"), ("POST", None), ("GET", None), ("DELETE", None), ("HEAD", None), ("PUT", b"")]
)
async def test_a_request_is_not_sent_again_when_a_kept_connection_ends(
    caller: Caller, target: Target, method: str, body: bytes | None, silence: Silence, dies: bool
) -> None:
    """Also when libcurl's way to a second try fails to connect: that must not hide that the first may have arrived."""

    def once(_: Hit) -> Reaction:
        if dies:
            target.stop_listening()
        return silence

    target.on("/once", once)
    assert (await caller.call(f"{target.url}/ok", method, body)).status == 200
    assert (await caller.call(f"{target.url}/once", method, body)).failure is HttpFailure.PROTOCOL
    assert [hit.connection for hit in target.hits] == [1, 1]
    assert (await caller.call(f"{target.url}/ok")).failure is (HttpFailure.CONNECT if dies else None)


async def test_libcurl_left_alone_does_send_again(target: Target) -> None:
    """The case above is real: without the executor's guard the target sees two copies."""
    target.on("/once", lambda _: Silence.CLOSE)
    with pycurl.Curl() as curl:
        curl.setopt(pycurl.WRITEFUNCTION, lambda _: None)
        curl.setopt(pycurl.POSTFIELDS, b"{}")
        for path in ("/ok", "/once"):
            curl.setopt(pycurl.URL, f"{target.url}{path}")
            with contextlib.suppress(pycurl.error):
                await asyncio.to_thread(curl.perform)
    assert len(target.hits_on("/once")) == 2


async def test_replies_that_end_together_come_together(caller: Caller) -> None:
    caller.submit("no url", range(50))
    await caller.answered(50)
    assert caller.batches_total == 1


@pytest.mark.parametrize("together", [1, 100])
async def test_connections_that_ended_while_idle_are_replaced(caller: Caller, target: Target, together: int) -> None:
    for first in range(0, 5 * together, together):
        caller.submit(f"{target.url}/slow/0.02", range(first, first + together))
        await caller.answered(first + together)
        if first // together % 2 == 0:
            await target.hang_up()
    assert {reply.status for reply in caller.replies} == {200}
    assert (len(target.hits), target.connections_total <= 3 * together) == (5 * together, True)


async def test_connections_are_kept_and_limited_per_host(open_caller: OpenCaller, target: Target) -> None:
    """The wait for a place counts for the timeout of the call, and not for that of the connection."""
    caller = open_caller(connections_per_host_max=2, connect_timeout_ms=300)
    for first in (0, 10):
        caller.submit(f"{target.url}/slow/0.1", range(first, first + 10))
        assert {reply.status for reply in await caller.answered(first + 10)} == {200}
    assert target.connections_total == 2
    caller.submit(f"{target.url}/hang", range(20, 30), timeout_ms=150)
    replies = (await caller.answered(30))[20:]
    assert {reply.failure for reply in replies} == {HttpFailure.TIMEOUT}
    assert min(reply.finished_s - reply.started_s for reply in replies) >= 0.145
    assert (await caller.call(f"{target.url}/ok", ms=0)).failure is HttpFailure.TIMEOUT


async def test_a_call_whose_turn_comes_when_nothing_may_be_sent_is_withheld(
    open_caller: OpenCaller, target: Target
) -> None:
    """It has waited for a connection meanwhile; one that was sent before is answered as ever, and later ones are sent again."""
    may_send = True
    caller = open_caller(connections_per_host_max=1, may_send=lambda: may_send)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    target.on("/later", lambda _: answer)
    caller.submit(f"{target.url}/later", range(3))
    await target.wait_for_hits(1)
    may_send = False
    answer.set_result(Answer())
    replies = {reply.key: reply.failure or reply.status for reply in await caller.answered(3)}
    assert replies == {0: 200, 1: HttpFailure.WITHHELD, 2: HttpFailure.WITHHELD}
    assert target.hits_total == 1
    may_send = True
    assert (await caller.call(f"{target.url}/ok")).status == 200


async def test_cancel_of_two_thousand_calls_in_flight(open_caller: OpenCaller, target: Target) -> None:
    caller = open_caller(connections_per_host_max=4_000)
    caller.submit(f"{target.url}/hang", range(2_000))
    await target.wait_for_hits(2_000)
    assert caller.executor.in_flight == len(target.connections) == 2_000
    caller.executor.cancel([3, "unknown"])
    assert [reply.key for reply in await caller.answered(1)] == [3]
    caller.submit(f"{target.url}/hang", range(2_000, 3_000))
    caller.executor.cancel(range(3_000))
    caller.submit(f"{target.url}/ok", range(3, 4))
    replies = await caller.answered(3_001)
    assert Counter(reply.key for reply in replies) == Counter([*range(3_000), 3])
    assert Counter(reply.failure for reply in replies) == {HttpFailure.CANCELLED: 3_000, None: 1}


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
async def test_close_answers_every_call(
    open_caller: OpenCaller, target: Target, monkeypatch: pytest.MonkeyPatch, stuck: bool
) -> None:
    """Also when the thread hangs in the caller's own check of an address."""
    monkeypatch.setattr(http, "CLOSE_WAIT_S", 0.05)
    entered, leave = threading.Event(), threading.Event()

    def judge(_: str) -> None:
        entered.set()
        if stuck:
            leave.wait(PATIENCE_S)

    caller = open_caller(judge_address=judge)
    caller.submit(f"{target.url}/hang", range(20))
    assert await asyncio.to_thread(entered.wait, PATIENCE_S)
    caller.submit(f"{target.url}/hang", range(20, 1_000))
    caller.executor.close()
    leave.set()
    await asyncio.to_thread(caller.executor._thread.join, PATIENCE_S)
    caller.executor.close()
    caller.submit(f"{target.url}/ok", range(1_000, 1_001))
    ends = sorted((reply.key, reply.failure) for reply in await caller.answered(1_001))
    assert ends == [(key, HttpFailure.CLOSED) for key in range(1_001)]


BREAKING = [(HttpExecutor, "_cancel"), (HttpExecutor, "_set_up"), (Sockets, "epoll"), (Transfers, "collect")]
BREAKING += [(Transfers, "_finish"), (Links, "collect"), (Links, "cancel")]


@pytest.mark.parametrize(("part", "broken"), BREAKING, ids=str)
async def test_a_fault_of_the_executor_answers_the_calls_in_flight(
    caller: Caller, target: Target, monkeypatch: pytest.MonkeyPatch, part: type[object], broken: str
) -> None:
    """And passes, unless it stays: then the executor is closed."""
    caller.submit(f"{target.url}/hang", range(50))
    await target.wait_for_hits(50)
    stays = broken == "_set_up"

    def fail(*_: object) -> None:
        if not stays:
            monkeypatch.undo()
        raise OSError("made to fail")

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    if part is Sockets:
        epoll = caller.executor._sockets.epoll
        caller.executor._sockets.epoll = Mock(poll=epoll.poll, close=epoll.close, modify=fail, register=fail)
    else:
        monkeypatch.setattr(part, broken, fail)
    if stays:
        monkeypatch.setattr(HttpExecutor, "_pass", fail)
    caller.executor.cancel([0])
    caller.submit(f"{target.url}/ok", range(50, 51))
    replies = {reply.key: f"{reply.failure}: {reply.detail}" for reply in await caller.answered(51)}
    assert set(replies) == set(range(51))
    assert {replies[key] for key in range(1, 50)} == {"internal: OSError('made to fail')"}
    assert (await caller.call(f"{target.url}/ok")).failure is (HttpFailure.CLOSED if stays else None)


@pytest.mark.parametrize("field", ["method", "url", "headers", "body", "timeout_ms", "run_headers"])
async def test_a_call_that_nobody_foresaw_fails_alone(caller: Caller, target: Target, field: str) -> None:
    good = HttpCall("good", "GET", f"{target.url}/ok", (), None, 20_000)
    caller.executor.submit([msgspec.structs.replace(good, key="odd", **{field: object()}), good])
    assert {r.key: r.failure for r in await caller.answered(2)} == {"odd": HttpFailure.INTERNAL, "good": None}


async def test_a_storm_gets_one_reply_per_call_and_one_hit_per_request(caller: Caller, target: Target) -> None:
    expected = {"ok": 200, "large/70000": 200, "refused": "connect", "invalid": "invalid", "hang": "cancelled"}
    expected |= {"hang/briefly": "timeout", "reset": "protocol", "close-after-read": "protocol"}
    kinds = {key: list(expected)[key * 7919 % len(expected)] for key in range(5_000)}
    with closed_port() as closed:
        urls = {"refused": f"http://127.0.0.1:{closed}/", "invalid": "no url"}
        for key, kind in kinds.items():
            timeout_ms = 200 if "briefly" in kind else 20_000
            caller.submit(urls.get(kind, f"{target.url}/{kind}"), range(key, key + 1), timeout_ms)
            if key % 100 == 0:
                caller.executor.cancel([each for each in range(key) if kinds[each] == "hang"])
                await asyncio.sleep(0)
        caller.executor.cancel([key for key, kind in kinds.items() if kind == "hang"])
        replies = await caller.answered(5_000)
    assert {reply.key: reply.failure or reply.status for reply in replies} == {k: expected[v] for k, v in kinds.items()}
    hits = Counter(int(hit.headers["dueline-run"]) for hit in target.hits)
    assert set(hits.values()) == {1}
    assert {key for key, kind in kinds.items() if expected[kind] in (200, "protocol")} <= set(hits)


async def test_the_target_as_a_process_is_a_witness(caller: Caller, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.target", "--log", str(tmp_path / "hits")]
    process = await asyncio.create_subprocess_exec(*command, cwd=Path(__file__).parents[3], stdout=PIPE)
    assert process.stdout is not None
    url = f"http://127.0.0.1:{int(await process.stdout.readline())}/ok"
    assert (await caller.call(url, "PUT", b"{}", headers=("dueline-run: r1", "dueline-token: 7"))).status == 200
    (hit,) = map(json.loads, (tmp_path / "hits").read_text().splitlines())
    assert (hit["method"], hit["path"], hit["dueline-run"], hit["dueline-token"]) == ("PUT", "/ok", "r1", "7")
    assert {"t", "dueline-attempt", "dueline-job", "dueline-scheduled-at"} <= hit.keys()
    process.terminate()
    assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0
