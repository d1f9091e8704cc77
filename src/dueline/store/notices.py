"""The store, as far as somebody is to be told of the ends of runs. `protocol` tells what holds of all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from dueline.domain.ids import RunId
from dueline.domain.run import NewRun, Run


class DueNotice(NamedTuple):
    """A run whose end somebody may want to be told of. It is None once nobody knows it any more."""

    run_id: RunId
    run: Run | None
    spec: str | None


class NoticeStore(Protocol):
    """Every move that ends a run that `notifies` writes down, in its transaction, that somebody may have to be told."""

    async def notices(self, *, limit: int) -> list[DueNotice]:
        """Some that are not dealt with."""

    async def send_notices(self, run_ids: Collection[RunId], notices: Sequence[NewRun]) -> int:
        """Deal with these: write the runs that tell of them, each with the run that it tells of as its parent, in one transaction. What
        somebody else dealt with is left out. Answers how many runs were written."""
