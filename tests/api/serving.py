"""A real API server on a real store, in a thread and a loop of its own, so that tests talk to it as any program does."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from http.client import HTTPConnection
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from dueline.api.app import make_app
from dueline.api.routes import Surface, make_surface
from dueline.api.server import ApiServer
from dueline.domain.errors import StoreUnavailable
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.protocol import Store
from tests.support.keys import ADMIN_KEY, AUTHORIZED

T = TypeVar("T")

START_S_MAX = 30.0
TARGET = {"url": "http://127.0.0.1:9/"}


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reasons(self) -> dict[str, str]:
        """Field → reason of a problem; of several for one field, all of them."""
        found: dict[str, str] = {}
        for error in self.json.get("errors", []):
            found[error["field"]] = f"{found.get(error['field'], '')} {error['reason']}".strip()
        return found


class ServedApi:
    """Serves from entry to exit. `store` belongs to the server's loop: reach it through `on_store`."""

    def __init__(self, make_store: Callable[[], Store]) -> None:
        self._make_store = make_store
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._store: Store | None = None
        self._server: ApiServer | None = None
        self._surface: Surface | None = None
        self.stopping = False

    def __enter__(self) -> Self:
        self._thread.start()
        self._await(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._await(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return self._server.url

    @property
    def port(self) -> int:
        assert self._server is not None
        return self._server.port

    @property
    def waiting(self) -> int:
        """How many questions of workers wait for an answer."""
        assert self._surface is not None
        return self._surface.desk.waiting

    @property
    def listening(self) -> int:
        """How many listen to events."""
        assert self._surface is not None
        return self._surface.events.readers

    def on_store(self, ask: Callable[[Store], Awaitable[T]]) -> T:
        async def asked() -> T:
            assert self._store is not None
            return await ask(self._store)

        return self._await(asked())

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One request on a connection of its own; `raw` is sent as it is, `body` as JSON."""
        sent = {**AUTHORIZED, **(headers or {})}
        if raw is None and body is not None:
            raw = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=raw, headers=sent)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, names, response.read())
        finally:
            connection.close()

    def stop(self) -> None:
        """Stop serving, as a process does that ends; the store stays open."""
        assert self._server is not None
        self._await(self._server.stop())

    def create(self, **fields: Any) -> Any:
        """A job that was created."""
        reply = self.call("POST", "/v1/jobs", {"target": TARGET, **fields})
        assert reply.status == 201, reply.body
        return reply.json

    async def _start(self) -> None:
        clock = SystemClock()
        self._store = store = self._make_store()
        await store.open()
        await store.migrate()
        keeper = Timekeeper(store, clock)
        await keeper.step()

        async def ready() -> None:
            if self.stopping:
                raise StoreUnavailable("stopping")
            await store.now_ms()

        self._surface = surface = make_surface(store, lambda: keeper.time, clock, SystemChance(), ready=ready)
        await surface.keyring.create_first(ADMIN_KEY)
        self._server = ApiServer(make_app(surface), "127.0.0.1", 0, stopping=surface.close)
        await self._server.start()

    async def _stop(self) -> None:
        if self._server is not None:
            await self._server.stop()
        if self._store is not None:
            await self._store.close()

    def _await(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(START_S_MAX)
