"""Both sides of a copy for tests: opened, copied, and broken off at any call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.copying.copier import Copier, Report
from dueline.store.copying.opening import make_source, make_target
from dueline.store.copying.sides import Source, Target
from dueline.store.opening import is_embedded
from tests.store.copying.filling import Contents, contents, contents_of_postgres


class Died(Exception):
    """The copier is gone, in the middle of whatever it did."""


class Calls:
    """Counts the calls of a copier, and lets it die before one of them."""

    def __init__(self, die_at: int | None = None, *, before: str | None = None, nth: int = 1) -> None:
        """The last is a number among all calls, or among those of a name."""
        self.names: list[str] = []
        self._die_at = die_at
        self._before, self._nth = before, nth

    def next(self, name: str) -> None:
        if len(self.names) == self._die_at or (name == self._before and self.names.count(name) == self._nth - 1):
            raise Died(name)
        self.names.append(name)


class Counted:
    """One side, every call of which is counted first."""

    def __init__(self, side: Source | Target, calls: Calls) -> None:
        self._side = side
        self._calls = calls

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._side, name)
        if not callable(value):
            return value
        if name in ("snapshot", "write_stop"):
            return lambda: self._entered(name, value())

        async def call(*args: Any) -> Any:
            self._calls.next(name)
            return await value(*args)

        return call

    @asynccontextmanager
    async def _entered(self, name: str, inner: AbstractAsyncContextManager[None]) -> AsyncIterator[None]:
        self._calls.next(name)
        async with inner:
            yield
            self._calls.next(f"{name} ends")


class Ear:
    """Hears what a copier says, and does something whenever it says a word."""

    def __init__(self, **then: Callable[[], None]) -> None:
        self.heard: list[str] = []
        self._then = then

    def said(self, text: str) -> None:
        self._hear(text.partition(" ")[0].strip(":").lower())

    def moved_on(self, doing: str, table: str, rows: int, total: int) -> None:
        assert 0 <= rows <= total
        self._hear(f"{doing}_{table}")

    def _hear(self, word: str) -> None:
        self.heard.append(word)
        if word in self._then:
            self._then[word]()


async def copy(
    source: Path | str, to: str, ear: Ear | None = None, *, calls: Calls | None = None, settle_s: float = 0.0
) -> Report:
    """A copier's whole life, or as much of it as it had."""
    clock, calls = SystemClock(), calls or Calls()
    one, other = make_source(str(source), clock), make_target(to, clock)
    try:
        await one.open()
        await other.open()
        sides = cast(Source, Counted(one, calls)), cast(Target, Counted(other, calls))
        return await Copier(*sides, clock, SystemChance(), ear or Ear()).run(settle_s=settle_s)
    finally:
        await one.close()
        await other.close()


async def contents_at(address: str) -> Contents:
    return contents(Path(address)) if is_embedded(address) else await contents_of_postgres(address)
