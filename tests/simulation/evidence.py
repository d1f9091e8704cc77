"""What there is to judge a simulation by, once everything has come to rest."""

from __future__ import annotations

import msgspec

from dueline.domain.ids import JobId, RunId
from dueline.domain.run import Run
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, LedgerRow, RunFilter
from tests.simulation.clocks import StoreClock
from tests.simulation.definitions import TENANTS
from tests.simulation.journal import Journal
from tests.simulation.link import Trouble
from tests.simulation.owners import Owners
from tests.simulation.target import Hit

_PAGE = 1_000
_ROWS_MAX = 100_000
_NEVER_MS = 1 << 47


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
