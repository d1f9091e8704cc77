"""Without threads: everything happens in the call, in memory or in a file."""

from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from threading import enumerate as threads
from typing import Any, TypeVar

import pytest

from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId
from dueline.domain.states import RunState
from dueline.runtime.clock import ManualClock
from dueline.store.shapes import RunFilter
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import TENANT, a_finish, a_run, changing, claim_one, enqueue, register

T = TypeVar("T")


def at_once(call: Coroutine[Any, Any, T]) -> T:
    """The answer of a coroutine that never waits; one that does would have to be driven by a loop."""
    try:
        call.send(None)
    except StopIteration as end:
        answer: T = end.value
        return answer
    call.close()
    raise AssertionError("it waited")


def finish_one(store: SqliteStore) -> RunState:
    worker = at_once(register(store))
    at_once(enqueue(store, a_run()))
    claimed = at_once(claim_one(store, worker))
    assert at_once(store.finish([a_finish(claimed)])) == {claimed.run_id}
    (run,) = at_once(store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10))
    return run.state


def test_everything_happens_in_the_call_without_a_loop_or_a_thread(clock: ManualClock) -> None:
    before = threads()
    store = SqliteStore(":memory:", clock, inline=True)
    woken: list[str] = []
    store.listen(woken.append)
    at_once(store.open())
    at_once(store.migrate())
    assert finish_one(store) is RunState.SUCCEEDED
    assert woken == ["ready/default"]
    with pytest.raises(NotFound):
        at_once(store.change_job(TENANT, JobId(bytes(16)), changing()))
    assert threads() == before
    at_once(store.close())


def test_inline_in_a_file_is_kept(path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock, inline=True)
    at_once(store.open())
    at_once(store.migrate())
    assert finish_one(store) is RunState.SUCCEEDED
    at_once(store.close())
    at_once(store.open())
    assert len(at_once(store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10))) == 1
    at_once(store.close())


@pytest.fixture
async def in_memory(clock: ManualClock) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(":memory:", clock)
    await store.open()
    await store.migrate()
    yield store
    await store.close()


async def test_with_a_thread_in_memory_reads_see_what_was_written(in_memory: SqliteStore) -> None:
    (run_id,) = await enqueue(in_memory, a_run())
    assert await in_memory.queues() == [("default", "")]
    assert await in_memory.run(TENANT, run_id) is not None
