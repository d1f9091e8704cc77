"""The client for coroutines.

from dueline import AsyncClient

async with AsyncClient() as client:
    run = await client.runs.enqueue(url="https://example.com/hello")
    print((await client.runs.wait(run.id)).state)
"""

from __future__ import annotations

import asyncio
import copy
import ssl
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec

from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock
from dueline.sdk.calls import Call
from dueline.sdk.client import RETRY_DEFAULT, TIMEOUT_S_DEFAULT, Resources, prepared
from dueline.sdk.drivers import at_cursor
from dueline.sdk.errors import Unreachable
from dueline.sdk.flows import Operation, Pause, Steps, Terms, call_steps, operation_steps
from dueline.sdk.pool import CONNECTIONS_MAX
from dueline.sdk.retries import RetryPolicy
from dueline.sdk.streams import StreamPool
from dueline.wire.pages import Page

T = TypeVar("T")


class AsyncDriver:
    """Waits on the running loop."""

    def __init__(self, pool: StreamPool, terms: Terms) -> None:
        self.pool = pool
        self.terms = terms

    async def call(self, call: Call[T]) -> T:
        return await self._take(call_steps(call, self.terms))

    async def operate(self, operation: Operation[T]) -> T:
        return await self._take(operation_steps(operation, self.terms))

    def list_all(self, call: Call[Page[T]]) -> AsyncListing[T]:
        return AsyncListing(self, call)

    async def _take(self, steps: Steps[T]) -> T:
        told: Any = None
        failure: Unreachable | None = None
        while True:
            try:
                step = steps.send(told) if failure is None else steps.throw(failure)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]  # what ends a generator has lost its type
            told = failure = None
            try:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.for_s)
                else:
                    told = await self.pool.send(step)
            except Unreachable as unreachable:
                failure = unreachable


class AsyncListing(Generic[T]):
    """All things of a list, page after page as they are looked at: `async for job in client.jobs.list(): …`"""

    def __init__(self, driver: AsyncDriver, call: Call[Page[T]]) -> None:
        self._driver = driver
        self._call = call

    async def __aiter__(self) -> AsyncIterator[T]:
        page = await self.page()
        for item in page.items:
            yield item
        while page.next_cursor is not None:
            page = await self.page(page.next_cursor)
            for item in page.items:
                yield item

    async def page(self, cursor: str | None = None) -> Page[T]:
        """One page: its `items`, and the `next_cursor` to go on with, which is None on the last. Without a cursor it is the first."""
        return await self._driver.call(at_cursor(self._call, cursor))


class AsyncClient(Resources[AsyncDriver]):
    """One server, for any number of coroutines on one loop. It has all the methods of a `Client`, each to be awaited, and lists go
    through `async for`. The arguments are those of a `Client`.

    A call that is cancelled lets go of its connection; whether the server carried it out is unknown then.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = TIMEOUT_S_DEFAULT,
        retry: RetryPolicy = RETRY_DEFAULT,
        connections_max: int = CONNECTIONS_MAX,
        tls: ssl.SSLContext | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
    ) -> None:
        address, terms = prepared(
            url, api_key=api_key, timeout_s=timeout_s, retry=retry, tls=tls, clock=clock, chance=chance
        )
        super().__init__(AsyncDriver(StreamPool(address, connections_max=connections_max), terms))

    @classmethod
    def from_env(cls, **options: Any) -> Self:
        """A client of the server in `DUELINE_URL`, with the key in `DUELINE_API_KEY`; `options` as for any other."""
        return cls(**options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.driver.pool.address.url}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections that are kept. A call after that opens another."""
        await self.driver.pool.close()

    def with_timeout(self, timeout_s: float) -> Self:
        """The same client with another time for each call, over the same connections."""
        other = copy.copy(self)
        terms = msgspec.structs.replace(self.driver.terms, timeout_s=timeout_s)
        Resources.__init__(other, AsyncDriver(self.driver.pool, terms))
        return other
