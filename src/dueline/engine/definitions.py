"""Job versions in memory: a version never changes, so it is read once and kept while there is room."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.job import JobVersion, payload_of
from dueline.store.protocol import JobStore

Key = tuple[JobId, int]
V = TypeVar("V")

_FACTOR, _STEP, _BITS = 6_364_136_223_846_793_005, 1_442_695_040_888_963_407, 64
"""Of Knuth's generator: numbers in no order are all that is needed here, the same in every process."""


class Kept(Generic[V]):
    """What was worked out of some versions, up to so many of the usual size.

    Where there are more, any of them makes room, and not what was used longest ago: schedules come round in turn, and that is the one that
    comes next.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[Key, V] = {}
        self._sizes: list[tuple[Key, int]] = []
        self._total = 0
        self._number = 0
        self.get = self._known.get

    def put(self, key: Key, value: V, *, size: int) -> None:
        if key in self._known:
            return
        while self._sizes and self._total + size > self._most:
            self._drop_one()
        self._known[key] = value
        self._sizes.append((key, size))
        self._total += size

    def _drop_one(self) -> None:
        self._number = (self._number * _FACTOR + _STEP) % (1 << _BITS)
        place = (self._number >> _BITS // 2) % len(self._sizes)
        key, size = self._sizes[place]
        self._sizes[place] = self._sizes[-1]
        self._sizes.pop()
        del self._known[key]
        self._total -= size


class Definitions:
    def __init__(self, store: JobStore, *, kept: int = limits.DEFINITIONS_KEPT) -> None:
        self._store = store
        self._kept: Kept[JobVersion] = Kept(kept)

    async def load(self, keys: Iterable[Key], *, keep: bool = True) -> dict[Key, JobVersion]:
        """The versions of these keys, from memory or in one read. Whoever keeps what it makes of them need not have them kept too."""
        get = self._kept.get
        found: dict[Key, JobVersion] = {}
        missing = []
        for key in keys:
            version = get(key)
            if version is None:
                missing.append(key)
            else:
                found[key] = version
        if missing:
            for version in await self._store.job_versions(missing):
                key = (version.job_id, version.version)
                found[key] = version
                if keep:
                    self._kept.put(key, version, size=size_of(version))
        return found


def size_of(version: JobVersion) -> int:
    """How many of the usual size a version is as large as."""
    return 1 + len(payload_of(version.definition.execution.target)[1]) // limits.DEFINITION_BYTES
