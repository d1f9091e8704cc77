"""Both clients over real connections, to servers that behave and to things that are none."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import pytest

from dueline import AsyncClient, Client
from dueline.sdk import errors
from dueline.sdk.retries import NEVER, RetryPolicy
from tests.support.target import KEY_AND_CERTIFICATE, Answer, Hit, Silence, Target, closed_port, deaf_port

Kind = Literal["threads", "coroutines"]
LIVE = "/livez"
OK = Answer(body=b'{"status": "ok"}')
SOON = RetryPolicy(attempts_max=3, base_s=0.001, cap_s=0.001)


class Either:
    """A client of one of both kinds, asked in the same way."""

    def __init__(self, kind: Kind, url: str, **options: Any) -> None:
        self._sync = Client(url, api_key="key", **options) if kind == "threads" else None
        self._async = AsyncClient(url, api_key="key", **options) if kind == "coroutines" else None

    async def live(self) -> str:
        return (await self._ask(lambda client: client.health.live())).status  # type: ignore[no-any-return]  # of either

    async def register(self) -> Any:
        return await self._ask(lambda client: client.request("POST", "/v1/x", {"a": 1}))

    async def resume(self) -> Any:
        return await self._ask(lambda client: client.request("POST", "/v1/x"))

    async def replace(self) -> Any:
        return await self._ask(lambda client: client.request("PUT", "/v1/x", {"a": 1}))

    async def close(self) -> None:
        if self._async is not None:
            await self._async.close()
        if self._sync is not None:
            self._sync.close()

    async def _ask(self, ask: Callable[[Any], Any]) -> Any:
        return await (asyncio.to_thread(ask, self._sync) if self._async is None else ask(self._async))


@contextlib.asynccontextmanager
async def client_of(kind: Kind, url: str, **options: Any) -> AsyncIterator[Either]:
    client = Either(kind, url, **options)
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture(params=["threads", "coroutines"])
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    async with Target() as target:
        target.on(LIVE, lambda _: OK)
        target.on("/v1/x", lambda _: OK)
        yield target


async def test_a_connection_is_kept_and_a_request_says_who_asks(kind: Kind, target: Target) -> None:
    async with client_of(kind, f"{target.url}/") as client:
        assert [await client.live() for _ in range(3)] == ["ok"] * 3
        await client.register()
        await client.resume()
    assert target.connections_total == 1
    get, *_, post, empty = target.hits
    assert (get.method, get.path, get.body) == ("GET", LIVE, b"")
    assert (post.method, post.body, post.headers["content-type"]) == ("POST", b'{"a":1}', "application/json")
    assert (empty.body, empty.headers["content-length"]) == (b"", "0")
    assert get.headers["host"] == target.url.removeprefix("http://")
    assert get.headers["authorization"] == "Bearer key"
    assert get.headers["user-agent"].startswith("dueline/")
    assert post.headers["idempotency-key"] != empty.headers["idempotency-key"]


async def test_a_server_below_a_path(kind: Kind, target: Target) -> None:
    target.on(f"/below{LIVE}", lambda _: OK)
    async with client_of(kind, f"{target.url}/below/") as client:
        assert await client.live() == "ok"


async def test_a_server_that_hung_up_is_connected_to_again(kind: Kind, target: Target) -> None:
    async with client_of(kind, target.url, retry=NEVER) as client:
        await client.live()
        await target.hang_up()
        assert await client.register() == {"status": "ok"}
    assert target.connections_total == 2


async def test_what_a_server_says_unasked_is_not_taken_for_an_answer(kind: Kind, target: Target) -> None:
    async with client_of(kind, target.url, retry=NEVER) as client:
        await client.live()
        (connection,) = target.connections
        connection.transport.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
        await asyncio.sleep(0.05)
        assert await client.live() == "ok"


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"status": "ok"}',
        b'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length:16\r\n\r\n{"status": "ok"}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"status\r\n8;x=y\r\n": "ok"}\r\n0\r\nLate: yes\r\n\r\n',
        b'HTTP/1.0 200 OK\r\nContent-Length: 16\r\n\r\n{"status": "ok"}',
        b'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 16\r\n\r\n{"status": "ok"}',
    ],
    ids=["length", "continue", "chunks", "old", "close"],
)
async def test_the_ways_of_an_answer(kind: Kind, target: Target, answer: bytes) -> None:
    target.on(LIVE, lambda _: answer)
    async with client_of(kind, target.url, retry=NEVER) as client:
        assert [await client.live(), await client.live()] == ["ok", "ok"]


@pytest.mark.parametrize("status", [b"200 OK", b"201 Created"])
async def test_an_answer_that_ends_with_its_connection(kind: Kind, status: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 " + status + b'\r\n\r\n{"status": "ok"}')
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with client_of(kind, f"http://127.0.0.1:{port}") as client:
            assert await client.live() == "ok"


async def test_a_large_answer_arrives_whole(kind: Kind, target: Target) -> None:
    target.on(LIVE, lambda _: Answer(body=b'{"status": "' + b"x" * 5_000_000 + b'"}'))
    async with client_of(kind, target.url) as client:
        assert len(await client.live()) == 5_000_000


async def test_nothing_to_read_is_read_at_once(kind: Kind, target: Target) -> None:
    target.on("/v1/x", lambda _: b"HTTP/1.1 204 No Content\r\n\r\n")
    async with client_of(kind, target.url, retry=NEVER) as client:
        assert [await client.register(), await client.register()] == [None, None]
    assert target.connections_total == 1


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 100_000 + b"\r\n\r\n",
        Silence.RESET,
        Silence.CLOSE,
    ],
    ids=["nonsense", "length", "chunk", "head", "reset", "close"],
)
async def test_an_answer_that_is_none_may_have_been_sent(kind: Kind, target: Target, said: bytes | Silence) -> None:
    target.on("/v1/x", lambda _: said)
    async with client_of(kind, target.url, retry=SOON, timeout_s=2) as client:
        with pytest.raises(errors.Unreachable) as raised:
            await client.register()
        assert raised.value.sent
        assert await client.live() == "ok", "on a connection that is clean"
    assert len({hit.headers["idempotency-key"] for hit in target.hits_on("/v1/x")}) == 1


async def test_what_can_do_no_harm_is_tried_again_and_nothing_else(kind: Kind, target: Target) -> None:
    def twice_away(_: Hit) -> Answer:
        return OK if target.hits_total > 2 else Answer(503)

    target.on(LIVE, twice_away)
    target.on("/v1/x", lambda _: Answer(503, headers={"Retry-After": "0"}))
    async with client_of(kind, target.url, retry=SOON) as client:
        assert await client.live() == "ok"
        for ask in (client.register, client.replace):
            with pytest.raises(errors.Unavailable):
                await ask()
    assert [hit.method for hit in target.hits] == ["GET"] * 3 + ["POST"] * 3 + ["PUT"]


async def test_nobody_there_is_told_as_not_sent(kind: Kind) -> None:
    with closed_port() as port:
        async with client_of(kind, f"http://127.0.0.1:{port}", retry=SOON) as client:
            with pytest.raises(errors.Unreachable, match="is a server running there") as raised:
                await client.register()
    assert not raised.value.sent


async def test_a_server_that_takes_no_connection_is_given_up_in_time(kind: Kind) -> None:
    with deaf_port() as port:
        async with client_of(kind, f"http://127.0.0.1:{port}", timeout_s=0.2) as client:
            with pytest.raises(errors.Unreachable, match="it took too long") as raised:
                await client.register()
    assert not raised.value.sent


async def test_an_answer_that_does_not_come_is_given_up_in_time(kind: Kind, target: Target) -> None:
    target.on("/v1/x", lambda _: Silence.HANG)
    async with client_of(kind, target.url, timeout_s=0.2) as client:
        with pytest.raises(errors.Unreachable, match="it took too long") as raised:
            await client.register()
    assert raised.value.sent


async def test_a_name_that_nobody_has(kind: Kind) -> None:
    async with client_of(kind, f"http://{'x' * 70}.invalid", retry=NEVER) as client:
        with pytest.raises(errors.Unreachable) as raised:
            await client.live()
    assert not raised.value.sent


async def test_tls_with_an_authority_of_ones_own(kind: Kind) -> None:
    trusting = ssl.create_default_context(cadata=KEY_AND_CERTIFICATE.partition("-----END PRIVATE KEY-----\n")[2])
    async with Target(tls=True) as target:
        target.on(LIVE, lambda _: OK)
        async with client_of(kind, target.url, tls=trusting) as client:
            assert [await client.live(), await client.live()] == ["ok", "ok"]
        assert target.connections_total == 1
        async with client_of(kind, target.url, retry=NEVER) as client:
            with pytest.raises(errors.Unreachable, match="certificate") as raised:
                await client.live()
    assert not raised.value.sent


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8700", "ftp://x", "http://", "http://x:many", "http://x/?a=b", "http://me@x", "http://x/#a"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="is not an address such as"):
            kind(url, api_key="")


@pytest.mark.parametrize("key", ["a b", "a\r\nEvil: 1", "schlüssel"])
def test_a_key_that_no_header_can_hold_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="api_key must be of printable ASCII"):
        Client("http://127.0.0.1", api_key=key)


def test_a_key_is_not_shown() -> None:
    client = Client("http://127.0.0.1:9", api_key="secret")
    assert (repr(client), repr(AsyncClient("http://a", api_key="secret"))) == (
        "<Client of http://127.0.0.1:9>",
        "<AsyncClient of http://a>",
    )
    assert "secret" not in repr(client.driver.terms)


def test_trust_without_tls_is_refused() -> None:
    with pytest.raises(ValueError, match="does not begin with https"):
        Client("http://127.0.0.1", api_key="", tls=ssl.create_default_context())


def test_no_time_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout_s must be more than 0"):
        Client("http://127.0.0.1", api_key="", timeout_s=0)


def test_the_server_and_its_key_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://10.0.0.1:9")
    monkeypatch.setenv("DUELINE_API_KEY", "secret")
    for client in (Client(), Client.from_env(), AsyncClient(), AsyncClient.from_env(timeout_s=5)):
        assert (client.driver.pool.address.authority, client.driver.terms.api_key) == ("10.0.0.1:9", "secret")
    own = Client("http://[::1]/x", api_key="own")
    assert (own.driver.pool.address.authority, own.driver.terms.api_key) == ("[::1]", "own")
    assert Client.from_env(url="http://a", api_key="").driver.terms.api_key == ""
