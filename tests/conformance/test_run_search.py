"""Searching runs: by words in their errors, their reasons, and the names of their jobs."""

from typing import Any

import msgspec
import pytest

from dueline.domain.ids import RunId
from dueline.domain.run import OutcomeKind
from dueline.domain.states import EndReason, RunState
from dueline.domain.words import words_in
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from tests.support.stores import (
    START_MS,
    TENANT,
    StoreClock,
    a_finish,
    a_job,
    a_retry,
    a_run,
    an_attempt,
    claim,
    create,
    enqueue,
    register,
)

Named = dict[RunId, str]


async def names(store: Store, runs: Named, *words: str, **match: Any) -> list[str]:
    sought = words_in(" ".join(words))
    found = await store.runs_page(RunFilter(tenant=TENANT, **match), sought, before=None, limit=100)
    return [runs[run.id] for run in found]


@pytest.fixture
async def runs(store: Store) -> Named:
    """Some that differ in what can be searched, oldest first."""
    job = await create(store, a_job("Nightly Report", next_ms=None))
    worker = await register(store)
    made: Named = {}
    errors = {
        "refused": "the target answered 503",
        "lost": 'said "no":\nGröße of line\\2 at https://crm.example.com/Sync',
        "nul": "a \0 in it",
        "fine": None,
    }
    for number, (name, error) in enumerate(errors.items()):
        run = a_run(job if name == "fine" else None, due_ms=START_MS - 10 + number, queue=name, tags=("error",))
        (run_id,) = await enqueue(store, run)
        (claimed,) = await claim(store, worker, queue=name)
        if error is None:
            attempt, state = an_attempt(claimed, result="a fine answer\0"), RunState.SUCCEEDED
        else:
            attempt, state = an_attempt(claimed, OutcomeKind.ERRORED, error=error), RunState.FAILED
        await store.finish([msgspec.structs.replace(a_finish(claimed, state), attempt=attempt)])
        made[run_id] = name
    return made


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["503"], ["refused"]),
        (["50"], ["refused"]),
        (["03"], []),
        (["ANSWERED", "targ"], ["refused"]),
        (["answered", "crm"], []),
        (["crm.example.com/sync"], ["lost"]),
        (["Größe"], ["lost"]),
        (["said no"], ["lost"]),
        (["line\\2"], ["lost"]),
        (["report"], ["fine"]),
        (["night", "rep"], ["fine"]),
        (["nightly", "answer"], []),
        (["error"], []),
        (["outcome"], []),
        (["errored"], []),
        (["nothing"], []),
    ],
)
async def test_runs_are_found_by_all_of_some_words(
    store: Store, runs: Named, words: list[str], found: list[str]
) -> None:
    assert await names(store, runs, *words) == found


async def test_a_search_is_narrowed_by_every_other_filter(store: Store, runs: Named) -> None:
    assert await names(store, runs, "it", state=RunState.FAILED) == ["nul"]
    assert await names(store, runs, "it", state=RunState.SUCCEEDED) == []
    assert await names(store, runs, "nightly", state=RunState.SUCCEEDED) == ["fine"]
    assert await names(store, runs, "503", queue="refused", tag="error") == ["refused"]
    assert await names(store, runs, "503", queue="lost") == []
    (fine,) = [run_id for run_id, name in runs.items() if name == "fine"]
    run = await store.run(TENANT, fine)
    assert run is not None
    assert await names(store, runs, "report", job_id=run.job_id) == ["fine"]
    assert await names(store, runs, "other", job_id=run.job_id) == []


async def test_live_runs_are_found_and_those_of_others_are_not(store: Store, clock: StoreClock) -> None:
    job = await create(store, a_job("sweep the floor", next_ms=None))
    theirs = await create(store, a_job("sweep the roof", next_ms=None, tenant="other"))
    worker = await register(store)
    await enqueue(store, a_run(job), a_run(theirs))
    retried = (await enqueue(store, a_run(queue="retried")))[0]
    (claimed,) = await claim(store, worker, queue="retried")
    attempt = an_attempt(claimed, OutcomeKind.UNREACHABLE, error="nobody swept there")
    await store.retry([msgspec.structs.replace(a_retry(claimed, due_ms=clock.now_ms + 60_000), attempt=attempt)])
    found = await store.runs_page(RunFilter(tenant=TENANT), ["sw"], before=None, limit=10)
    assert {run.state for run in found} == {RunState.READY, RunState.RETRYING}
    for state in (RunState.READY, RunState.RETRYING, RunState.RUNNING):
        found = await store.runs_page(RunFilter(tenant=TENANT, state=state), ["sw"], before=None, limit=10)
        assert len(found) == (state is not RunState.RUNNING), state
    await claim(store, worker)
    found = await store.runs_page(RunFilter(tenant=TENANT, state=RunState.RUNNING), ["floor"], before=None, limit=10)
    assert [run.job_id for run in found] == [job.id]
    await store.cancel_runs(TENANT, [retried], reason=EndReason.REQUESTED)
    (found_run,) = await store.runs_page(RunFilter(tenant=TENANT), ["requested"], before=None, limit=10)
    assert found_run.id == retried
