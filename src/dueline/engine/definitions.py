"""Job versions in memory: a version never changes, so it is read once and kept while it is used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.job import JobVersion
from dueline.store.protocol import JobStore

Key = tuple[JobId, int]


class Definitions:
    def __init__(self, store: JobStore, *, kept: int = limits.DEFINITIONS_KEPT) -> None:
        self._store = store
        self._kept = kept
        self._versions: OrderedDict[Key, JobVersion] = OrderedDict()

    async def load(self, keys: Iterable[Key]) -> dict[Key, JobVersion]:
        """The versions of these keys, from memory or in one read."""
        versions = self._versions
        found: dict[Key, JobVersion] = {}
        missing = []
        for key in keys:
            version = versions.get(key)
            if version is None:
                missing.append(key)
            else:
                versions.move_to_end(key)
                found[key] = version
        if missing:
            for version in await self._store.job_versions(missing):
                found[version.job_id, version.version] = versions[version.job_id, version.version] = version
            while len(versions) > self._kept:
                versions.popitem(last=False)
        return found
