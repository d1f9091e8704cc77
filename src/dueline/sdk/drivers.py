"""Who takes the steps of a call: threads, which wait. `async_client` has the one for coroutines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from dueline.sdk.calls import Call
from dueline.sdk.errors import Unreachable
from dueline.sdk.flows import Operation, Pause, Steps, Terms, call_steps, operation_steps, plain_call_steps
from dueline.sdk.pool import Pool
from dueline.wire.pages import Page

T = TypeVar("T")


class Driver(Protocol):
    """What resources need of whoever takes the steps."""

    @property
    def terms(self) -> Terms: ...
    def call(self, call: Call[Any]) -> Any: ...
    def operate(self, operation: Operation[Any]) -> Any: ...
    def list_all(self, call: Call[Any]) -> Any: ...


class SyncDriver:
    """Waits in the thread of its caller, and reads answers into their shapes."""

    def __init__(self, pool: Pool, terms: Terms) -> None:
        self.pool = pool
        self.terms = terms

    def call(self, call: Call[T]) -> T:
        return take(self.pool, call_steps(call, self.terms))

    def operate(self, operation: Operation[T]) -> T:
        return take(self.pool, operation_steps(operation, self.terms))

    def list_all(self, call: Call[Page[T]]) -> Listing[T]:
        return Listing(self, call)


class PlainDriver:
    """The same, with answers as plain JSON, just as the server sent them."""

    def __init__(self, pool: Pool, terms: Terms) -> None:
        self.pool = pool
        self.terms = terms

    def call(self, call: Call[Any]) -> Any:
        return take(self.pool, plain_call_steps(call, self.terms))

    def operate(self, operation: Operation[Any]) -> Any:
        return msgspec.to_builtins(take(self.pool, operation_steps(operation, self.terms)))

    def list_all(self, call: Call[Any]) -> PlainListing:
        return PlainListing(self, call)


class Listing(Generic[T]):
    """All things of a list, page after page as they are looked at: `for job in client.jobs.list(): …`"""

    def __init__(self, driver: SyncDriver, call: Call[Page[T]]) -> None:
        self._driver = driver
        self._call = call

    def __iter__(self) -> Iterator[T]:
        page = self.page()
        yield from page.items
        while page.next_cursor is not None:
            page = self.page(page.next_cursor)
            yield from page.items

    def page(self, cursor: str | None = None) -> Page[T]:
        """One page: its `items`, and the `next_cursor` to go on with, which is None on the last. Without a cursor it is the first."""
        return self._driver.call(at_cursor(self._call, cursor))


class PlainListing:
    """The same, as plain JSON."""

    def __init__(self, driver: PlainDriver, call: Call[Any]) -> None:
        self._driver = driver
        self._call = call

    def __iter__(self) -> Iterator[dict[str, Any]]:
        page = self.page()
        yield from page["items"]
        while page["next_cursor"] is not None:
            page = self.page(page["next_cursor"])
            yield from page["items"]

    def page(self, cursor: str | None = None) -> dict[str, Any]:
        page: dict[str, Any] = self._driver.call(at_cursor(self._call, cursor))
        return page


def at_cursor(call: Call[T], cursor: str | None) -> Call[T]:
    """The call for the page that a cursor goes on with."""
    return call if cursor is None else msgspec.structs.replace(call, query={**call.query, "cursor": cursor})


def take(pool: Pool, steps: Steps[T]) -> T:
    """Take all steps, waiting for each."""
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
                pool.pause(step.for_s)
            else:
                told = pool.send(step)
        except Unreachable as unreachable:
            failure = unreachable
