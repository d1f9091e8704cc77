"""What there is to judge a simulation by, once everything has come to rest."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.run import Run
from dueline.runtime.clock import Clock
from dueline.store.fleet import ShardLease
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, LedgerRow, RunFilter
from dueline.store.sqlite.session import Session
from dueline.store.sqlite.store import SqliteStore
from tests.simulation.journal import Journal
from tests.simulation.link import Trouble
from tests.simulation.target import Hit

_PAGE = 1_000
_ROWS_MAX = 100_000
_LEFT_BEHIND = {
    "runs": "SELECT count(*) FROM runs",
    "places": "SELECT count(*) FROM places",
    "places at gates": "SELECT count(*) FROM gate_places",
    "plans": "SELECT count(*) FROM plans",
    "processes": "SELECT count(*) FROM nodes",
    "progress": "SELECT count(*) FROM run_progress",
    "shards with an owner": "SELECT count(*) FROM shards WHERE owner IN (SELECT boot_id FROM nodes)",
}


class SimStore(SqliteStore):
    """The embedded store in memory, which also tells what is left in its tables.

    Who has which shard is read by every scheduler all the time and changes rarely: the answer is kept until it does.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(":memory:", clock, inline=True)
        self._shards: list[ShardLease] | None = None

    async def shards(self) -> list[ShardLease]:
        if self._shards is None:
            self._shards = await super().shards()
        return self._shards

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        self._shards = None
        return await super().take_shards(owner, seen)

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        self._shards = None
        await super().drop_shards(owner, epochs)

    async def left_behind(self) -> dict[str, int]:
        return await self._database.read(_left_behind)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The target's log, the clients' log, the troubles that there were, and the store's final state."""

    journal: Journal
    hits: list[Hit]
    troubles: list[Trouble]
    buried: dict[str, float]
    """When each process was declared dead, by its boot id."""
    calm: bool
    runs: list[Run]
    ledger: dict[JobId, list[LedgerRow]]
    dead: set[RunId]
    """Dead letters that nobody has dealt with."""
    left_behind: dict[str, int]
    glimpses: list[dict[RunId, Run]]
    """Runs that had ended by some moments before."""


async def all_runs(store: Store) -> list[Run]:
    """Every run, live and finished, latest first; one that is both is there twice."""
    runs: list[Run] = []
    while True:
        before = runs[-1].id if runs else None
        page = await store.runs_page(RunFilter(tenant=DEFAULT_TENANT), before=before, limit=_PAGE)
        runs += page
        if len(page) < _PAGE:
            return runs


async def read_ledger(store: Store, journal: Journal) -> dict[JobId, list[LedgerRow]]:
    return {job_id: await store.unfired(job_id, from_ms=0, to_ms=1 << 47, limit=_ROWS_MAX) for job_id in journal.events}


async def dead_letters(store: Store) -> set[RunId]:
    letters = await store.dead_letters(DeadLetterFilter(tenant=DEFAULT_TENANT), before=None, limit=_ROWS_MAX)
    return {letter.run.id for letter in letters}


def _left_behind(session: Session) -> dict[str, int]:
    return {name: session.value(statement) for name, statement in _LEFT_BEHIND.items()}
