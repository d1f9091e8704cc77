"""Words for stories about runs that are in each other's way."""

from typing import Any

from dueline.domain.ids import BootId, RunId
from dueline.domain.job import Job
from dueline.domain.lanes import PLAIN
from dueline.domain.run import NewRun
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Blocked, Claim
from tests.support.stores import QUEUE, a_run, claim_one, create, enqueue, register, the_run


def exclusive(job: Job, **fields: Any) -> NewRun:
    return a_run(job, exclusive=True, **fields)


async def blocked(store: Store, worker: str = "w1") -> list[Blocked]:
    """What is in the way, when nothing can be claimed."""
    claimed = await store.claim(BootId(worker), QUEUE, PLAIN, ahead_ms=0, limit=100)
    assert claimed.claims == []
    return claimed.blocked


async def state_of(store: Store, run_id: RunId) -> RunState:
    return (await the_run(store, run_id)).state


async def one_under_way(store: Store) -> tuple[Job, Claim, RunId]:
    """A job with a claimed run, and a second one that is ready."""
    job = await create(store)
    worker = await register(store)
    await enqueue(store, exclusive(job))
    first = await claim_one(store, worker)
    (second,) = await enqueue(store, exclusive(job))
    return job, first, second
