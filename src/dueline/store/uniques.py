"""What a store does for runs that must not be there twice. A part of the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dueline.domain.ids import JobId
from dueline.domain.uniqueness import UniqueAnswer, UniqueRun


class UniqueStore(Protocol):
    async def enqueue_unique(
        self, runs: Sequence[UniqueRun], *, atomic: bool, open_job: JobId | None = None
    ) -> list[UniqueAnswer]:
        """Write runs whose keys are free, and do for the others what they ask for, by the rules of `domain.uniqueness`; answers in the
        order of the runs. A later run of the batch finds what the earlier ones left.

        Whoever asks for the same key at the same time waits, and then finds this. With `atomic` nothing at all is written where one of
        them is refused. Nor is it where an `open_job`, whose runs they are, was deleted or cancelled: NotFound or Conflict, as
        from `enqueue`.
        """

    async def forget_keys(self, *, limit: int) -> int:
        """Look at some keys that may be free, and forget those that are. Answers how many it looked at."""
