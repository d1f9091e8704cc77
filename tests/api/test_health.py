"""Whether the process lives, whether it can serve, and what it says when it cannot."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from dueline.api import health
from dueline.api.app import make_app
from dueline.api.health import Writes
from dueline.api.routes import Surface
from dueline.api.server import ApiServer, CannotListen
from dueline.domain.access import ApiKey, Caller, KeyRole
from dueline.domain.errors import NotFound, StoreUnavailable
from dueline.domain.job import DEFAULT_TENANT
from dueline.sdk import errors
from dueline.sdk.client import Client
from dueline.sdk.retries import NEVER
from tests.api.serving import ServedApi


class Broken:
    """Operations and insights in one: whatever is asked of them ends with the same exception."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        async def fail(*_args: Any, **_kwargs: Any) -> None:
            raise self._error

        return fail


class KnowsAll:
    """Knows every key, whatever became of the store."""

    async def caller(self, text: str, *, while_away: bool = False) -> Caller:
        del text, while_away
        return Caller(ApiKey(id="k", tenant=DEFAULT_TENANT, role=KeyRole.ADMIN, name="", digest=b""))


def surface_of(broken: Any, ready: Callable[[], Awaitable[None]]) -> Surface:
    parts: dict[str, Any] = {info.name: broken for info in msgspec.structs.fields(Surface) if info.required}
    return Surface(**{**parts, "ready": ready, "keyring": KnowsAll()})


async def served(error: Exception) -> ApiServer:
    broken: Any = Broken(error)
    server = ApiServer(make_app(surface_of(broken, broken.ready)), "127.0.0.1", 0)
    await server.start()
    return server


async def refused(server: ApiServer) -> errors.ApiError:
    with Client(server.url, retry=NEVER) as client, pytest.raises(errors.ApiError) as raised:
        await asyncio.to_thread(client.jobs.list().page)
    return raised.value


async def test_a_store_that_is_away_is_told_without_its_secrets() -> None:
    server = await served(StoreUnavailable("postgresql://user:canary@host is away"))
    try:
        error = await refused(server)
        assert isinstance(error, errors.Unavailable)
        assert error.problem.type == "urn:dueline:problem:unavailable"
        assert "canary" not in str(error.problem)
    finally:
        await server.stop()


async def test_what_nobody_expected_reveals_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    server = await served(RuntimeError("canary"))
    try:
        error = await refused(server)
        assert (type(error), error.problem.status) == (errors.Broken, 500)
        assert "canary" not in str(error.problem)
    finally:
        await server.stop()
    told = "".join(capsys.readouterr())
    assert "RuntimeError" in told
    assert "canary" not in told


async def test_live_never_asks_the_store_and_ready_does() -> None:
    server = await served(StoreUnavailable("away"))
    try:
        for path, status in (("/livez", b"200"), ("/readyz", b"503")):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            assert (await reader.read()).split()[1] == status
            writer.close()
    finally:
        await server.stop()


def test_a_stopping_process_is_not_ready(own_api: ServedApi) -> None:
    assert own_api.call("GET", "/readyz").json == {"status": "ready"}
    own_api.stopping = True
    assert own_api.call("GET", "/readyz").status == 503
    assert own_api.call("GET", "/livez").json == {"status": "live"}


async def test_who_could_not_write_is_not_ready_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store whose disk is full answers that it is there."""

    async def ready() -> None:
        pass

    async def ask(method: str, path: str) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer any-key\r\nConnection: close\r\n\r\n"
        )
        writer.write(head.encode())
        status = int((await reader.read()).split()[1])
        writer.close()
        return status

    full: Any = Broken(StoreUnavailable("disk full"))
    server = ApiServer(make_app(surface_of(full, ready)), "127.0.0.1", 0)
    await server.start()
    try:
        assert await ask("GET", "/v1/queues") == 503
        assert await ask("GET", "/readyz") == 200, "a question that failed says nothing of writes"
        assert await ask("POST", "/v1/queues/default/pause") == 503
        assert await ask("GET", "/readyz") == 503
        monkeypatch.setattr(health, "FAILING_S", 0.0)
        assert await ask("GET", "/readyz") == 200, "somebody has to try again"
    finally:
        await server.stop()


async def test_a_write_that_succeeds_ends_that() -> None:
    writes = Writes()
    with pytest.raises(StoreUnavailable), writes.watched():
        raise StoreUnavailable("disk full")
    with pytest.raises(NotFound), writes.watched():
        raise NotFound("job", "none")
    assert writes.failing, "who found nothing has written nothing"
    with writes.watched():
        pass
    assert not writes.failing


async def test_a_taken_port_is_told() -> None:
    server = await served(RuntimeError())
    try:
        other: Any = Broken(RuntimeError())
        with pytest.raises(CannotListen, match=f"127.0.0.1:{server.port}"):
            await ApiServer(make_app(surface_of(other, other.ready)), "127.0.0.1", server.port).start()
    finally:
        await server.stop()


async def test_stopping_lets_a_request_end() -> None:
    release = asyncio.Event()

    async def ready() -> None:
        await release.wait()

    broken: Any = Broken(RuntimeError())
    server = ApiServer(make_app(surface_of(broken, ready)), "127.0.0.1", 0)
    await server.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    await asyncio.sleep(0.1)
    stopping = asyncio.create_task(server.stop())
    await asyncio.sleep(0.3)
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", server.port)
    release.set()
    assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()
    await stopping
