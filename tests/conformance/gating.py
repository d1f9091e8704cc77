"""Words for stories about runs that pass gates."""

from __future__ import annotations

from typing import Any

import msgspec

from dueline.domain.gates import Gate, Wish
from dueline.domain.ids import BootId
from dueline.domain.job import Concurrency, Job, StartRate
from dueline.domain.run import NewRun
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim
from tests.support.stores import TENANT, a_job, a_run, changing, claim, create, enqueue, register, states_of

W1 = BootId("w1")


def wish(claimed: Claim, *gates: Gate) -> Wish:
    return Wish(claimed.run_id, claimed.token, gates)


async def claimed_runs(store: Store, *runs: NewRun) -> list[Claim]:
    """Runs in rank order in the hands of a worker."""
    await register(store, W1)
    await enqueue(store, *runs)
    found = await claim(store, W1, limit=len(runs))
    assert len(found) == len(runs)
    return found


async def some_claims(store: Store, count: int) -> list[Claim]:
    return await claimed_runs(store, *(a_run() for _ in range(count)))


async def enter(store: Store, claims: list[Claim], *gates: Gate, ahead_ms: int = 0) -> list[Claim]:
    """Those that pass, as whoever executes them knows them."""
    starts = await store.enter([wish(one, *gates) for one in claims], ahead_ms=ahead_ms)
    return [msgspec.structs.replace(one, gated=True) for one in claims if one.run_id in starts]


async def states(store: Store, claims: list[Claim]) -> list[RunState]:
    return await states_of(store, [one.run_id for one in claims])


async def taken(store: Store, gate: Gate) -> int:
    seen, _ = await store.look_at(gate)
    return seen.taken


async def limited_job(store: Store, limit: int | None, rate: StartRate | None = None, **fields: Any) -> Job:
    """A job of which only so many runs may be under way."""
    job = a_job(**fields)
    return await create(store, msgspec.structs.replace(job, definition=_limited(job.definition, limit, rate)))


async def relimit(store: Store, job: Job, limit: int | None, rate: StartRate | None = None) -> Job:
    return await store.change_job(
        TENANT, job.id, changing(definition=lambda hand: _limited(hand.job.definition, limit, rate))
    )


def _limited(definition: Any, limit: int | None, rate: StartRate | None) -> Any:
    concurrency = None if limit is None else Concurrency(limit=limit)
    execution = msgspec.structs.replace(definition.execution, concurrency=concurrency, rate=rate)
    return msgspec.structs.replace(definition, execution=execution)
