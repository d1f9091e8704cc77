"""What there is to judge a simulation by, once everything has come to rest."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dueline.domain.ids import BootId, JobId, RunId, run_text
from dueline.domain.run import Run
from dueline.runtime.clock import Clock
from dueline.store.fleet import ShardLease
from dueline.store.protocol import Store
from dueline.store.shapes import Claimed, DeadLetterFilter, LedgerRow, RunFilter
from dueline.store.sqlite.part import pack_ids
from dueline.store.sqlite.session import Session
from dueline.store.sqlite.store import SqliteStore
from tests.simulation.clocks import StoreClock
from tests.simulation.definitions import TENANTS
from tests.simulation.journal import Journal
from tests.simulation.link import Trouble
from tests.simulation.owners import Owners
from tests.simulation.target import Hit

_PAGE = 1_000
_ROWS_MAX = 100_000
_NEVER_MS = 1 << 47
_LEFT_BEHIND = {
    "runs": "SELECT count(*) FROM runs",
    "places": "SELECT count(*) FROM places",
    "places at gates": "SELECT count(*) FROM gate_places",
    "plans": "SELECT count(*) FROM plans",
    "processes": "SELECT count(*) FROM nodes",
    "progress": "SELECT count(*) FROM run_progress",
    "shards with an owner": "SELECT count(*) FROM shards WHERE owner IN (SELECT boot_id FROM nodes)",
}
_PASSED_OVER = """
SELECT id FROM runs
WHERE
    queue = ?1 AND lane = ?2 AND state = 'ready' AND due_ms <= now_ms() + ?3
    AND (expires_ms IS NULL OR expires_ms > now_ms() OR begun_ms IS NOT NULL)
    AND rank < (SELECT max(t.rank) FROM runs AS t WHERE t.id IN (SELECT unhex(value) FROM json_each(?4)))
"""


class SimStore(SqliteStore):
    """The embedded store in memory, which also tells what is left in its tables, and whether claims keep to the order of ranks.

    Who has which shard is read by every scheduler all the time and changes rarely: the answer is kept until it does.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__(":memory:", clock, inline=True)
        self._shards: list[ShardLease] | None = None
        self.wrong: list[str] = []

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

    async def claim(self, worker: BootId, queue: str, lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        claimed = await super().claim(worker, queue, lane, ahead_ms=ahead_ms, limit=limit)
        if claimed.claims and not claimed.blocked:
            taken = [claim.run_id for claim in claimed.claims]
            for run_id in await self._database.read(_passed_over, queue, lane, ahead_ms, taken):
                self.wrong.append(
                    f"I16: {run_text(run_id)} stood in front of one that was claimed, and was passed over"
                )
        return claimed

    async def left_behind(self) -> dict[str, int]:
        return await self._database.read(_left_behind)


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The target's log, the clients' log, the troubles that there were, who had what, and the store's final state."""

    journal: Journal
    hits: list[Hit]
    troubles: list[Trouble]
    owners: Owners
    clock: StoreClock
    runs: list[Run]
    ledger: dict[JobId, list[LedgerRow]]
    dead: set[RunId]
    """Dead letters that nobody has dealt with."""
    left_behind: dict[str, int]
    glimpses: list[dict[RunId, Run]]
    """Runs that had ended by some moments before."""

    def ended_ms(self, run: Run) -> int:
        """When a run was over by the store's clock, whoever wrote that."""
        return self.owners.ended_ms.get(run.id, _NEVER_MS if run.finished_ms is None else run.finished_ms)


async def all_runs(store: Store) -> list[Run]:
    """Every run, live and finished; one that is both is there twice."""
    runs: list[Run] = []
    for tenant in TENANTS:
        before: RunId | None = None
        while True:
            page = await store.runs_page(RunFilter(tenant=tenant), before=before, limit=_PAGE)
            runs += page
            if len(page) < _PAGE:
                break
            before = page[-1].id
    return runs


async def read_ledger(store: Store, journal: Journal) -> dict[JobId, list[LedgerRow]]:
    return {
        job_id: await store.unfired(job_id, from_ms=0, to_ms=_NEVER_MS, limit=_ROWS_MAX) for job_id in journal.events
    }


async def dead_letters(store: Store) -> set[RunId]:
    filters = [DeadLetterFilter(tenant=tenant) for tenant in TENANTS]
    return {letter.run.id for one in filters for letter in await store.dead_letters(one, before=None, limit=_ROWS_MAX)}


def _left_behind(session: Session) -> dict[str, int]:
    return {name: session.value(statement) for name, statement in _LEFT_BEHIND.items()}


def _passed_over(session: Session, queue: str, lane: str, ahead_ms: int, taken: list[RunId]) -> list[RunId]:
    return [row[0] for row in session.rows(_PASSED_OVER, queue, lane, ahead_ms, pack_ids(taken))]
