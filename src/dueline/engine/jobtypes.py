"""Types of jobs: the tasks that workers say they can carry out."""

from __future__ import annotations

from collections import Counter
from difflib import get_close_matches
from typing import Protocol

import msgspec

from dueline.domain.errors import NotFound
from dueline.store.fleet import JobType, JobTypeStore, MemberStore

_NEAR = 3


class JobTypesStore(JobTypeStore, MemberStore, Protocol):
    """What types of jobs need of the store."""


class OfferedType(msgspec.Struct, frozen=True):
    """A type, and how many workers would take a run of it now."""

    job_type: JobType
    workers: int


class JobTypes:
    def __init__(self, store: JobTypesStore) -> None:
        self._store = store

    async def all(self) -> list[OfferedType]:
        """Every type that is known, by name."""
        workers = Counter(name for node in await self._store.nodes() if node.takes_runs for name in node.tasks)
        return [OfferedType(known, workers[known.name]) for known in await self._store.job_types()]

    async def get(self, name: str) -> OfferedType:
        offered = {one.job_type.name: one for one in await self.all()}
        if name not in offered:
            near = get_close_matches(name, offered, n=_NEAR)
            raise NotFound("job type", f"{name}: did you mean {' or '.join(near)}?" if near else name)
        return offered[name]
