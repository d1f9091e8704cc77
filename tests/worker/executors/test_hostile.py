"""Targets that do harm: every call ends in time and by its right name, memory stays bounded, and other hosts notice nothing."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.run import OutcomeKind
from dueline.engine.execution.exchange import CallOptions, HttpFailure
from dueline.engine.execution.outcomes import read_reply
from tests.support.calling import PATIENCE_S, Caller
from tests.support.h2_target import LARGE, H2Target
from tests.support.hostile import EXPIRED_KEY_AND_CERTIFICATE, HARMS, hostile_target
from tests.support.target import KEY_AND_CERTIFICATE, Answer, Target, deaf_port

MIB = 1024 * 1024
KEEPING = CallOptions(keep=frozenset({"x-request-id", "location"}))
TRUSTING = CallOptions(ca=KEY_AND_CERTIFICATE.encode())

ENDS: dict[str, HttpFailure | int] = {
    "/flood": 200,
    "/chunked-flood": 200,
    "/bomb": 200,
    "/endless-headers": HttpFailure.TOO_LARGE,
    "/endless-line": HttpFailure.TOO_LARGE,
    "/endless-continues": HttpFailure.TOO_LARGE,
    "/drip": HttpFailure.TIMEOUT,
    "/hang": HttpFailure.TIMEOUT,
    "/reset": HttpFailure.PROTOCOL,
    "/reset-in-body": HttpFailure.PROTOCOL,
    "/close-in-body": HttpFailure.PROTOCOL,
    "/bad-chunks": HttpFailure.PROTOCOL,
    "/huge-chunk": HttpFailure.PROTOCOL,
    "/two-lengths": HttpFailure.PROTOCOL,
    "/garbage": HttpFailure.PROTOCOL,
    "/loop": 302,
    "/later-by-date": 429,
    "/later-by-seconds": 503,
}


@pytest.fixture
async def hostile() -> AsyncIterator[str]:
    async with hostile_target() as url:
        yield url


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def timeout_ms(path: str) -> int:
    return 400 if ENDS[path] is HttpFailure.TIMEOUT else 20_000


def test_every_harm_has_its_end() -> None:
    assert ENDS.keys() == HARMS.keys()


@pytest.mark.parametrize("options", [CallOptions(), KEEPING], ids=["usual", "keeping"])
async def test_every_harm_ends_by_its_name_and_is_bounded(caller: Caller, hostile: str, options: CallOptions) -> None:
    for path, end in ENDS.items():
        reply = await caller.call(f"{hostile}{path}", "POST", b"{}", ms=timeout_ms(path), options=options)
        assert (path, reply.failure or reply.status) == (path, end)
        assert len(reply.body) <= limits.RESPONSE_KEPT_BYTES
        assert len(str(reply.headers)) < 3 * limits.RESPONSE_HEADER_LETTERS_MAX
        assert msgspec.json.encode(read_reply(reply))


async def test_what_floods_is_cut_and_what_is_packed_stays_packed(caller: Caller, hostile: str) -> None:
    for path in ("/flood", "/chunked-flood"):
        reply = await caller.call(f"{hostile}{path}")
        assert (len(reply.body), reply.truncated) == (limits.RESPONSE_KEPT_BYTES, True)
    reply = await caller.call(f"{hostile}/bomb")
    assert reply.body.startswith(b"\x1f\x8b")


async def test_a_redirect_is_told_and_not_followed(caller: Caller, hostile: str) -> None:
    reply = await caller.call(f"{hostile}/loop")
    assert (reply.status, reply.headers) == (302, {"location": f"{hostile}/loop"})
    assert (await caller.call(f"{hostile}/loop", options=KEEPING)).headers == {"location": "/loop"}
    assert read_reply(reply).kind is OutcomeKind.REFUSED


async def test_a_target_may_ask_for_time_by_date_and_by_seconds(caller: Caller, hostile: str) -> None:
    by_date = read_reply(await caller.call(f"{hostile}/later-by-date"))
    # 100 s from then; the clock of whole seconds that libcurl reads may be a moment behind.
    assert 60_000 <= (by_date.retry_after_ms or 0) <= 101_000
    by_seconds = read_reply(await caller.call(f"{hostile}/later-by-seconds"))
    assert by_seconds.retry_after_ms == limits.RETRY_AFTER_MS_MAX


async def test_memory_is_bounded_and_other_hosts_notice_nothing(caller: Caller, hostile: str) -> None:
    """All harms at once, many times each; the calls to a good host end while the hostile ones hang."""
    async with Target() as good:
        caller.submit(f"{good.url}/ok", range(100))
        await caller.answered(100)
        before_bytes = resident_bytes()
        harms = [path for path in ENDS for _ in range(12)]
        hanging = [path for path in harms if ENDS[path] is HttpFailure.TIMEOUT]
        caller.executor.submit(
            [caller.a_call(path, "POST", f"{hostile}{path}", b"{}", options=KEEPING) for path in harms]
        )
        caller.submit(f"{good.url}/ok", range(100, 600))
        replies = await caller.answered_by(lambda reply: isinstance(reply.key, int), 600)
        assert {reply.key: reply.status for reply in replies} == dict.fromkeys(range(600), 200)
        assert caller.executor.in_flight >= len(hanging)
        peak_bytes = resident_bytes()
        async with asyncio.timeout(PATIENCE_S):
            while len(caller.replies) < 600 + len(harms) - len(hanging):
                await asyncio.sleep(0.01)
                peak_bytes = max(peak_bytes, resident_bytes())
        caller.executor.cancel(hanging)
        ends = {reply.key: reply.failure or reply.status for reply in await caller.answered(600 + len(harms))}
        assert {path: end for path, end in ends.items() if path in ENDS} == {
            **ENDS,
            **dict.fromkeys(hanging, HttpFailure.CANCELLED),
        }
    assert peak_bytes - before_bytes < 50 * MIB


@pytest.mark.parametrize(
    ("certificate", "options", "end"),
    [
        (KEY_AND_CERTIFICATE, CallOptions(), HttpFailure.TLS),
        (KEY_AND_CERTIFICATE, TRUSTING, 200),
        (KEY_AND_CERTIFICATE, CallOptions(verify=False), 200),
        (KEY_AND_CERTIFICATE, CallOptions(ca=EXPIRED_KEY_AND_CERTIFICATE.encode()), HttpFailure.TLS),
        (EXPIRED_KEY_AND_CERTIFICATE, CallOptions(), HttpFailure.TLS),
        (EXPIRED_KEY_AND_CERTIFICATE, CallOptions(ca=EXPIRED_KEY_AND_CERTIFICATE.encode()), HttpFailure.TLS),
        (EXPIRED_KEY_AND_CERTIFICATE, CallOptions(verify=False), 200),
    ],
)
async def test_who_is_trusted(caller: Caller, certificate: str, options: CallOptions, end: HttpFailure | int) -> None:
    async with Target(tls=True, certificate=certificate) as target:
        reply = await caller.call(f"{target.url}/ok", options=options)
        assert (reply.failure or reply.status) == end
        assert len(target.hits) == (1 if end == 200 else 0)


async def test_trust_of_one_call_is_not_lent_to_the_next(caller: Caller) -> None:
    """On the same handle, and though a connection to the host is open."""
    async with Target(tls=True) as target:
        for options, end in [(TRUSTING, 200), (CallOptions(), HttpFailure.TLS)] * 2 + [
            (CallOptions(verify=False), 200)
        ]:
            reply = await caller.call(f"{target.url}/ok", options=options)
            assert (reply.failure or reply.status) == end
        assert (await caller.call(f"{target.url}/ok")).failure is HttpFailure.TLS
    assert len(caller.executor._transfers) == 1


async def test_a_connection_gets_no_more_time_than_its_call_allows(caller: Caller) -> None:
    with deaf_port() as port:
        reply = await caller.call(f"http://127.0.0.1:{port}/", options=CallOptions(connect_timeout_ms=100))
        assert reply.failure is HttpFailure.CONNECT
        assert reply.finished_s - reply.started_s < PATIENCE_S / 3


async def test_headers_that_are_kept(caller: Caller) -> None:
    answer = Answer(200, {"Content-Type": "text/plain", "X-Request-Id": "7", "x-b": " y ", "Set-Cookie": "s"}, b"ok")
    async with Target() as target:
        target.on("/headers", lambda _: answer)
        url = f"{target.url}/headers"
        assert (await caller.call(url)).headers == {"content-type": "text/plain"}
        kept = CallOptions(keep=frozenset({"x-request-id", "x-b", "x-none"}))
        assert (await caller.call(url, options=kept)).headers == {"x-request-id": "7", "x-b": "y"}
        assert (await caller.call(url, options=CallOptions(keep=frozenset()))).headers == {}
        assert (await caller.call(f"{target.url}/ok")).headers == {}
        early = b"HTTP/1.1 103 Early\r\nX-B: no\r\n\r\nHTTP/1.1 200 OK\r\nX-B: a\r\nX-B: \xff\x07b\r\nContent-Length: 0\r\n\r\n"
        target.on("/early", lambda _: early)
        assert (await caller.call(f"{target.url}/early", options=kept)).headers == {"x-b": "a, \xffb"}
        odd = b"HTTP/1.1 200 OK\r\nContent-Type: \xff\x01" + b"y" * 9_000 + b"\r\nContent-Length: 1\r\n\r\nx"
        target.on("/odd", lambda _: odd)
        value = (await caller.call(f"{target.url}/odd")).headers["content-type"]
        assert value == "\xff" + "y" * (limits.RESPONSE_HEADER_LETTERS_MAX - 1)
    assert len(caller.executor._transfers) == 1


H2_ENDS = {"/ok": 200, "/large": 200, "/hang": HttpFailure.TIMEOUT, "/reset": HttpFailure.PROTOCOL}
H2_ENDS |= {"/refused": HttpFailure.PROTOCOL, "/goaway": HttpFailure.PROTOCOL}


@pytest.mark.parametrize(("path", "end"), H2_ENDS.items())
async def test_http_2(caller: Caller, path: str, end: HttpFailure | int) -> None:
    """libcurl would send again what a server refused unseen, or left behind as it went away; the target sees one."""
    options = msgspec.structs.replace(KEEPING, ca=TRUSTING.ca)
    async with H2Target() as target:
        assert (await caller.call(f"{target.url}/ok", "POST", b"{}", options=options)).headers == {"x-request-id": "7"}
        ms = 400 if end is HttpFailure.TIMEOUT else 20_000
        told = "dueline-run: r1\r\ntraceparent: t1"
        reply = await caller.call(f"{target.url}{path}", "POST", b"{}", ms=ms, options=options, run_headers=told)
        assert (reply.failure or reply.status) == end
        assert reply.body == {"/ok": b"ok", "/large": LARGE}.get(path, b"")
        assert target.hits == ["/ok", path]
        assert (target.headers[1]["dueline-run"], target.headers[1]["traceparent"]) == ("r1", "t1")
        assert (await caller.call(f"{target.url}/ok", options=options)).status == 200


async def test_calls_share_an_http_2_connection_and_one_that_hangs_does_not_hold_the_others(caller: Caller) -> None:
    async with H2Target() as target:
        assert (await caller.call(f"{target.url}/ok", options=TRUSTING)).status == 200
        calls = [caller.a_call(key, "GET", f"{target.url}/hang", None, options=TRUSTING) for key in range(10)]
        calls += [caller.a_call(key, "GET", f"{target.url}/ok", None, options=TRUSTING) for key in range(10, 60)]
        caller.executor.submit(calls)
        replies = (await caller.answered(51))[1:]
        assert {reply.key: reply.status for reply in replies} == dict.fromkeys(range(10, 60), 200)
        caller.executor.cancel(range(10))
        await caller.answered(61)
