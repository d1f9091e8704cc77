"""Outcomes on their way to the store: grouped for a few milliseconds, written together, kept until they are written."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Collection
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import RunId
from dueline.runtime.log import get_log
from dueline.runtime.wakeup import Wakeup

log = get_log(__name__)

_IDLE_S = 60.0
_RESULT_LETTERS_PER_BATCH = 4 * 1024 * 1024
"""Results are bounded one by one; this bounds a statement full of large ones."""

_GATHER, _GATHER_S_MAX = 3.0, 0.03
"""Ends gather for so many times as long as the last write took: a statement costs as much as some hundred rows, and a store that is busy
gets fewer of them."""


class _End(Protocol):
    @property
    def run_id(self) -> RunId: ...


E = TypeVar("E", bound=_End)


class Reports(Generic[E]):
    """A result that could not be written is offered again with its token, however long the store is away."""

    def __init__(
        self,
        *,
        write: Callable[[list[E]], Awaitable[set[RunId]]],
        letters: Callable[[E], int],
        written: Callable[[int], None],
        before: Callable[[Collection[RunId]], Awaitable[None]],
    ) -> None:
        """`write` answers whose tokens matched, `letters` is how long a result is, `before` is done before ends are written."""
        self._write = write
        self._letters = letters
        self._written = written
        self._before = before
        self._waiting: list[E] = []
        self._writing = 0
        """How many of those that wait are being written."""
        self._gather_s = limits.OUTCOME_GROUP_S
        self._timer: asyncio.TimerHandle | None = None
        self._in_doubt: frozenset[RunId] = frozenset()
        self.wakeup = Wakeup()
        self.fenced_total = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def run_ids(self) -> set[RunId]:
        return {end.run_id for end in self._waiting}

    def add(self, ends: list[E]) -> None:
        """They wait for company, and the longer the more a write costs; a full batch waits for nobody."""
        self._waiting.extend(ends)
        if len(self._waiting) - self._writing >= limits.FINISH_BATCH:
            self._ring()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._gather_s, self._ring)

    async def step(self) -> float:
        """Write one batch. A result whose token is stale belongs to somebody else by now: it is counted and dropped."""
        batch = self._next_batch()
        if not batch:
            return _IDLE_S
        cut = len(batch) < len(self._waiting)
        offered = {end.run_id for end in batch}
        clock = asyncio.get_running_loop().time
        began_s = clock()
        self._writing = len(batch)
        try:
            await self._before(offered)
            accepted = await self._write(batch)
        except StoreUnavailable:
            # The batch may have been written all the same; then its second offer finds nothing to match, rightly.
            self._in_doubt |= offered
            raise
        finally:
            self._writing = 0
        self._gather_s = min(max((clock() - began_s) * _GATHER, limits.OUTCOME_GROUP_S), _GATHER_S_MAX)
        del self._waiting[: len(batch)]
        refused = offered - accepted - self._in_doubt
        if refused:
            self.fenced_total += len(refused)
            log.warning("results refused", count=len(refused), total=self.fenced_total)
        self._in_doubt -= offered
        self._written(len(batch))
        return 0.0 if cut else _IDLE_S

    def _next_batch(self) -> list[E]:
        """As many as fit a statement, and one in any case."""
        batch = self._waiting[: limits.FINISH_BATCH]
        sizes_letters = list(accumulate(map(self._letters, batch)))
        return batch[: max(bisect_right(sizes_letters, _RESULT_LETTERS_PER_BATCH), 1)]

    def _ring(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.wakeup.wake()
