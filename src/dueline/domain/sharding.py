"""Which shard a job belongs to, and which scheduler a shard belongs to."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from dueline.domain import limits
from dueline.domain.ids import BootId, JobId


def shard_of(job_id: JobId) -> int:
    """The job's shard, for ever: it depends on the id alone."""
    return crc32(job_id) % limits.SHARDS


def owner_of(shard: int, live: Collection[BootId]) -> BootId | None:
    """Rendezvous hashing: everyone with the same list names the same owner, and a change of the list moves only what it must."""
    return max(live, key=lambda boot_id: _weights(boot_id)[shard], default=None)


def shards_of(boot_id: BootId, live: Collection[BootId]) -> frozenset[int]:
    """All shards that belong to one scheduler, given the live ones."""
    if boot_id not in live:
        return frozenset()
    return frozenset(shard for shard, owner in enumerate(_owners(frozenset(live))) if owner == boot_id)


@lru_cache(maxsize=64)
def _owners(live: frozenset[BootId]) -> tuple[BootId, ...]:
    """Of each shard. They are kept too: where several schedulers are in one process, all of them ask for the same."""
    return tuple(owner for _, owner in map(max, zip(*(_weights(one) for one in live), strict=True)))


@lru_cache(maxsize=1024)
def _weights(boot_id: BootId) -> tuple[tuple[bytes, BootId], ...]:
    """Of each shard, no two alike. They are kept: whenever somebody comes or goes, all who are there are compared again."""
    return tuple(
        (blake2b(f"{shard}/{boot_id}".encode(), digest_size=8).digest(), boot_id) for shard in range(limits.SHARDS)
    )
