"""Failed runs: kept until somebody deals with them, tried again as new runs, the same wish once."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator

import pytest

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.errors import NotFound
from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.overlap import Overlap
from dueline.domain.redriving import RedriveVersion
from dueline.domain.retry import RetryPolicy
from dueline.domain.run import Run
from dueline.domain.states import RunKind, RunState
from dueline.engine.deadletters import DeadLetters, RedriveAsked
from dueline.runtime.clock import StoreTime
from dueline.store.shapes import DeadLetterFilter
from tests.support.cluster import Cluster
from tests.support.stores import StoreUnderTest
from tests.support.target import Answer, Reaction, Target

ALL = DeadLetterFilter(tenant=DEFAULT_TENANT)
ONCE = RetryPolicy(max_attempts=1)


class Morgue(Cluster):
    """A cluster with its dead letters."""

    def __init__(self, under_test: StoreUnderTest, target: Target) -> None:
        super().__init__(under_test)
        self._target = target
        time = StoreTime(self.clock)
        self.letters = DeadLetters(self.store, lambda: self._synchronised(time), self.quotas)

    def failing(self, path: str = "/status/500") -> Execution:
        return Execution(target=HttpTarget(url=self._target.url + path), retry=ONCE)

    async def fail(self, count: int = 1) -> None:
        runs = [AdhocRun(execution=self.failing()) for _ in range(count)]
        await self.operations.enqueue(DEFAULT_TENANT, runs)
        await self.advance(1)

    async def of_kind(self, kind: RunKind) -> list[Run]:
        return [run for run in await self.runs() if run.kind is kind]


@pytest.fixture
async def morgue(under_test: StoreUnderTest, target: Target) -> AsyncIterator[Morgue]:
    morgue = Morgue(under_test, target)
    await morgue.add()
    yield morgue
    morgue.close()


async def test_a_failed_run_is_a_dead_letter_with_what_it_executed(morgue: Morgue) -> None:
    await morgue.fail()
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    assert (letter.run.state, len(letter.run.attempts)) == (RunState.FAILED, 1)
    assert await morgue.letters.execution_of(letter) == morgue.failing()


async def test_a_redrive_makes_a_new_run_with_its_parent_and_deals_with_the_letter(morgue: Morgue) -> None:
    await morgue.fail()
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    new_id = await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, RedriveAsked(key="again"))
    assert await morgue.letters.count(ALL) == 0
    await morgue.advance(1)
    (redriven,) = await morgue.of_kind(RunKind.REDRIVE)
    assert (redriven.id, redriven.parent_id, redriven.state) == (new_id, letter.run.id, RunState.FAILED)
    assert await morgue.letters.count(ALL) == 1, "it failed again"


async def test_the_same_wish_changes_nothing_more(morgue: Morgue) -> None:
    await morgue.fail()
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    asked = RedriveAsked(key="again")
    first = await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, asked)
    assert await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, asked) == first
    assert len(await morgue.of_kind(RunKind.REDRIVE)) == 1
    with pytest.raises(NotFound):
        await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, RedriveAsked(key="another"))


async def test_a_corrected_execution_is_what_runs(morgue: Morgue, target: Target) -> None:
    await morgue.fail()
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    asked = RedriveAsked(key="corrected")
    await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, asked, edit=lambda _run, _was: morgue.failing("/ok"))
    await morgue.advance(1)
    (redriven,) = await morgue.of_kind(RunKind.REDRIVE)
    assert redriven.state is RunState.SUCCEEDED
    assert target.hits[-1].path == "/ok"


@pytest.mark.parametrize("choice", RedriveVersion)
async def test_a_job_s_run_is_redriven_by_the_version_that_was_chosen(morgue: Morgue, choice: RedriveVersion) -> None:
    job = await morgue.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _now_ms: Definition(name=job_text(job_id), execution=morgue.failing()),
    )
    await morgue.operations.run_job(DEFAULT_TENANT, job.id, force=True)
    await morgue.advance(1)
    await morgue.operations.edit_job(
        DEFAULT_TENANT,
        job.id,
        lambda found, _now_ms: Definition(name=found.definition.name, execution=morgue.failing("/ok")),
        expected_version=None,
    )
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, RedriveAsked(key="k", version=choice))
    await morgue.advance(1)
    (redriven,) = await morgue.of_kind(RunKind.REDRIVE)
    ended = RunState.SUCCEEDED if choice is RedriveVersion.LATEST else RunState.FAILED
    assert (redriven.state, redriven.job_id) == (ended, job.id)


async def test_a_job_s_run_is_corrected_without_the_job(morgue: Morgue) -> None:
    job = await morgue.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _now_ms: Definition(name=job_text(job_id), execution=morgue.failing()),
    )
    await morgue.operations.run_job(DEFAULT_TENANT, job.id, force=True)
    await morgue.advance(1)
    (letter,) = await morgue.letters.page(ALL, before=None, limit=10)
    asked = RedriveAsked(key="corrected")
    await morgue.letters.redrive(DEFAULT_TENANT, letter.run.id, asked, edit=lambda _run, _was: morgue.failing("/ok"))
    await morgue.advance(1)
    (redriven,) = await morgue.of_kind(RunKind.REDRIVE)
    assert (redriven.state, redriven.job_id) == (RunState.SUCCEEDED, job.id)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.QUEUE_ONE, Overlap.CANCEL_PREVIOUS])
async def test_redriven_runs_of_one_job_wait_for_one_another(morgue: Morgue, target: Target, overlap: Overlap) -> None:
    """What a job does with occurrences that overlap would have dropped all but one of them."""
    job = await morgue.operations.create_job(
        DEFAULT_TENANT,
        lambda job_id, _now_ms: Definition(name=job_text(job_id), execution=morgue.failing(), overlap=overlap),
    )
    for _ in range(3):
        await morgue.operations.run_job(DEFAULT_TENANT, job.id, force=True)
    await morgue.advance(1)
    assert await morgue.letters.count(ALL) == 3
    first_call: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    answers: Iterator[Reaction] = iter([first_call])
    target.on("/status/500", lambda _hit: next(answers, Answer()))
    await morgue.letters.redrive_many(ALL, RedriveAsked(key="again", rate=1_000.0))
    await morgue.advance(1, calls_end=False)
    states = Counter(run.state for run in await morgue.of_kind(RunKind.REDRIVE))
    assert states == {RunState.RUNNING: 1, RunState.HELD: 2}
    first_call.set_result(Answer())
    await morgue.advance(4)
    assert [run.state for run in await morgue.of_kind(RunKind.REDRIVE)] == [RunState.SUCCEEDED] * 3


async def test_many_are_redriven_by_a_filter_at_a_rate_after_a_look(morgue: Morgue) -> None:
    await morgue.fail(20)
    asked = RedriveAsked(key="batch", rate=10.0, dry_run=True)
    told = await morgue.letters.redrive_many(ALL, asked)
    assert (told.matched, len(told.redriven), told.left) == (20, 20, 0)
    assert await morgue.of_kind(RunKind.REDRIVE) == []
    done = await morgue.letters.redrive_many(ALL, RedriveAsked(key="batch", rate=10.0))
    assert len(done.redriven) == 20
    due = sorted(run.due_ms for run in await morgue.of_kind(RunKind.REDRIVE))
    assert due[-1] - due[0] == 1_900, "ten a second"
    assert done.free_ms == due[-1] + 100
    assert (await morgue.letters.redrive_many(ALL, RedriveAsked(key="batch"))).matched == 0


async def test_another_call_goes_on_at_the_pace_of_the_one_before(morgue: Morgue) -> None:
    await morgue.fail()
    start_ms = await morgue.store.now_ms() + 60_000
    told = await morgue.letters.redrive_many(ALL, RedriveAsked(key="k", rate=2.0, start_ms=start_ms))
    (redriven,) = await morgue.of_kind(RunKind.REDRIVE)
    assert (redriven.due_ms, told.free_ms, told.now_ms < start_ms) == (start_ms, start_ms + 500, True)


async def test_what_is_put_aside_stays_in_the_history(morgue: Morgue) -> None:
    await morgue.fail(3)
    assert await morgue.letters.purge(ALL) == 3
    assert await morgue.letters.count(ALL) == 0
    assert len([run for run in await morgue.runs() if run.state is RunState.FAILED]) == 3
