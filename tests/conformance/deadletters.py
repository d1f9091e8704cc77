"""Words for stories about runs that failed for good."""

from typing import Any

import msgspec

from dueline.domain.ids import RunId
from dueline.domain.redriving import redriven_id
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind, RunState
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, Redrive
from tests.support.stores import TENANT, a_finish, a_run, claim_one, enqueue, register

QUEUE = "failing"
"""A queue of their own."""


def of(tenant: str = TENANT, **fields: Any) -> DeadLetterFilter:
    return DeadLetterFilter(tenant=tenant, **fields)


async def fail(store: Store, run: NewRun | None = None, *, reason: str | None = None, finished_ms: int = 0) -> RunId:
    """A run that fails at once, and is a dead letter."""
    run = run or a_run(queue=QUEUE)
    await enqueue(store, run)
    claimed = await claim_one(store, await register(store), queue=run.queue, lane=run.lane)
    assert claimed.run_id == run.id
    finish = a_finish(claimed, RunState.FAILED, reason=reason)
    finish = msgspec.structs.replace(finish, finished_ms=finished_ms or finish.finished_ms)
    assert await store.finish([finish]) == {run.id}
    return run.id


async def letters(store: Store, match: DeadLetterFilter | None = None, *, limit: int = 100) -> list[RunId]:
    """The dead letters that match, latest scheduled first; the count agrees."""
    match = match or of()
    found = [letter.run.id for letter in await store.dead_letters(match, before=None, limit=limit)]
    assert await store.dead_letter_count(match) == len(found) or len(found) == limit
    return found


def again(run_id: RunId, key: str = "once", **fields: Any) -> Redrive:
    """The run that one request puts in place of a dead letter: of the same request always the same."""
    return Redrive(run_id, a_run(id=redriven_id(run_id, key), kind=RunKind.REDRIVE, parent_id=run_id, **fields))
