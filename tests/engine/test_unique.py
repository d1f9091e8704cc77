"""Unique runs from the wish to the call: asked for often, called once; and their keys are forgotten."""

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget
from dueline.domain.states import RunState
from dueline.domain.uniqueness import Dedupe, OnConflict, UniqueVerdict
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest
from tests.support.target import Target


async def test_a_run_that_is_put_off_again_and_again_is_called_once_when_nobody_asks_any_more(
    under_test: StoreUnderTest, target: Target
) -> None:
    """Asked for every half second, each time for a second later: workers claim it ahead, and give it up."""
    cluster = Cluster(under_test)
    await cluster.add()
    execution = Execution(target=HttpTarget(url=f"{target.url}/ok"))
    dedupe = Dedupe(key="k", on_conflict=OnConflict.RESCHEDULE)
    answers = []
    for _ in range(10):
        adhoc = AdhocRun(execution=execution, due_ms=cluster.store_clock.now_ms + 1_000)
        answers += await cluster.operations.enqueue_unique(DEFAULT_TENANT, [adhoc], [dedupe])
        await cluster.advance(0.5)
    assert target.hits == []
    assert [answer.verdict for answer in answers] == [UniqueVerdict.WRITTEN] + [UniqueVerdict.RESCHEDULED] * 9
    await cluster.advance(1)
    assert len(target.hits) == 1
    (run,) = await cluster.runs()
    assert (run.state, run.due_ms, run.attempt) == (RunState.SUCCEEDED, START_MS + 5_500, 1)
    cluster.close()


async def test_keys_are_forgotten_when_their_runs_have_ended(under_test: StoreUnderTest, target: Target) -> None:
    cluster = Cluster(under_test)
    await cluster.add()
    adhoc = [AdhocRun(execution=Execution(target=HttpTarget(url=f"{target.url}/ok"))) for _ in range(20)]
    dedupes = [Dedupe(key=f"k{number}") for number in range(20)]
    await cluster.operations.enqueue_unique(DEFAULT_TENANT, adhoc, dedupes)
    await cluster.advance(65, tick_s=1)
    assert len(target.hits) == 20
    await under_test.tamper("UPDATE uniques SET sweep_ms = 0")
    assert await under_test.store.forget_keys(limit=100) == 0
    cluster.close()
