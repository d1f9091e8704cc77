"""What a scheduler writes for a due plan."""

from itertools import pairwise
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.firing import make_run
from dueline.domain.ids import JobId, new_job_id, occurrence_run_id
from dueline.domain.job import Definition, Execution, HttpTarget, JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, MisfirePolicy
from dueline.domain.schedule import At, Every, Schedule
from dueline.domain.sharding import shard_of
from dueline.domain.states import RunKind
from dueline.engine.scheduler import make_firing, pause_s
from dueline.store.shapes import DuePlan, Firing

NOW_MS = 1_767_225_600_000
MINUTE_MS = 60_000
JOB_ID = new_job_id(NOW_MS - 1, bytes(10))
EVERY_MINUTE = Every(MINUTE_MS, NOW_MS % MINUTE_MS)


def a_version(schedule: Schedule | None = EVERY_MINUTE, **fields: Any) -> JobVersion:
    execution = Execution(target=HttpTarget(url="http://t/"), timeout_ms=4_321)
    definition = Definition(name="nightly", execution=execution, schedule=schedule, **fields)
    return JobVersion(JOB_ID, 3, "acme", definition)


def fired(version: JobVersion, next_ms: int) -> Firing:
    planned = DuePlan(job_id=JOB_ID, shard=shard_of(JOB_ID), version=3, generation=8, next_ms=next_ms)
    return make_firing(planned, version, {}, now_ms=NOW_MS, until_ms=NOW_MS + limits.AHEAD_MS)


def test_a_run_is_made_from_its_version() -> None:
    version = a_version(queue="slow", priority=7, region="eu", tags=("a", "b"), overlap=Overlap.ALLOW)
    run = make_run(version, NOW_MS, due_ms=NOW_MS, token=5)
    assert run.id == occurrence_run_id(JOB_ID, NOW_MS, RunKind.SCHEDULED)
    assert (run.job_id, run.version, run.tenant, run.kind) == (JOB_ID, 3, "acme", RunKind.SCHEDULED)
    assert (run.queue, run.priority, run.region, run.tags) == ("slow", 7, "eu", ("a", "b"))
    assert (run.scheduled_ms, run.due_ms, run.timeout_ms, run.token) == (NOW_MS, NOW_MS, 4_321, 5)
    assert (run.spec, run.parent_id) == (None, None)
    assert (run.fairness_key, run.missed) == ("", False)


@pytest.mark.parametrize("overlap", Overlap)
def test_a_run_is_exclusive_unless_overlap_is_allowed(overlap: Overlap) -> None:
    assert make_run(a_version(overlap=overlap), NOW_MS, due_ms=NOW_MS, token=0).exclusive is (
        overlap is not Overlap.ALLOW
    )


@pytest.mark.parametrize("missed_by_ms", [0, MINUTE_MS, 86_400_000])
def test_a_missed_run_is_told_apart_from_those_on_time_however_old_it_is(missed_by_ms: int) -> None:
    missed = make_run(a_version(), NOW_MS - missed_by_ms, due_ms=NOW_MS, token=0, missed=True)
    on_time = make_run(a_version(), NOW_MS, due_ms=NOW_MS, token=0)
    assert (missed.missed, on_time.missed) == (True, False)
    assert missed.id == occurrence_run_id(JOB_ID, NOW_MS - missed_by_ms, RunKind.SCHEDULED)


def test_a_firing_moves_the_plan_that_was_seen() -> None:
    firing = fired(a_version(), NOW_MS)
    assert (firing.job_id, firing.shard, firing.generation, firing.next_ms) == (JOB_ID, shard_of(JOB_ID), 8, NOW_MS)
    assert firing.position.next_ms == NOW_MS + MINUTE_MS
    assert [run.scheduled_ms for run in firing.runs] == [NOW_MS]


def test_a_firing_holds_missed_and_on_time_runs_in_order() -> None:
    version = a_version(misfire=Misfire(policy=MisfirePolicy.FIRE_ALL, cap=2))
    firing = fired(version, NOW_MS - 10 * MINUTE_MS)
    assert [run.scheduled_ms for run in firing.runs] == [NOW_MS - 2 * MINUTE_MS, NOW_MS - MINUTE_MS, NOW_MS]
    assert [run.missed for run in firing.runs] == [True, True, False]
    assert firing.position.next_ms == NOW_MS + MINUTE_MS


def test_a_firing_may_move_the_plan_without_a_run() -> None:
    version = a_version(Every(60 * MINUTE_MS, NOW_MS - 20 * MINUTE_MS), misfire=Misfire(policy=MisfirePolicy.SKIP))
    firing = fired(version, NOW_MS - 20 * MINUTE_MS)
    assert (firing.runs, firing.position.next_ms) == ((), NOW_MS + 40 * MINUTE_MS)


def test_a_one_time_job_is_exhausted_by_its_firing() -> None:
    firing = fired(a_version(At(NOW_MS - 5 * MINUTE_MS)), NOW_MS - 5 * MINUTE_MS)
    assert [run.scheduled_ms for run in firing.runs] == [NOW_MS - 5 * MINUTE_MS]
    assert firing.position.next_ms is None


def test_whoever_fires_an_occurrence_names_it_the_same() -> None:
    one = make_firing(
        DuePlan(JOB_ID, 1, 3, 8, NOW_MS), a_version(), {}, now_ms=NOW_MS - 500, until_ms=NOW_MS - 500 + limits.AHEAD_MS
    )
    other = fired(a_version(), NOW_MS)
    assert one.runs == other.runs


def test_runs_of_a_plan_that_was_changed_begin_with_higher_tokens() -> None:
    # A claim on the run as it was before must never fit the run that took its place.
    tokens = [
        make_firing(DuePlan(JobId(JOB_ID), 1, 3, generation, NOW_MS), a_version(), {}, now_ms=NOW_MS, until_ms=NOW_MS)
        .runs[0]
        .token
        for generation in (1, 2, 3)
    ]
    assert tokens == sorted(set(tokens))
    assert min(later - earlier for earlier, later in pairwise(tokens)) > limits.ATTEMPTS_MAX


@pytest.mark.parametrize(
    ("first_ms", "count", "expected_s"),
    [
        (limits.AHEAD_MS, 1, limits.GATHER_S),
        (limits.AHEAD_MS // 2, 1, limits.GATHER_S),
        (limits.AHEAD_MS // 2 - 1, 1, 0.0),
        (-1, 1, 0.0),
        (limits.AHEAD_MS, limits.DUE_PAGE // 2, limits.GATHER_S),
        (limits.AHEAD_MS, limits.DUE_PAGE // 2 + 1, 0.0),
    ],
)
def test_what_comes_due_gathers_unless_there_is_much_or_some_of_it_is_urgent(
    first_ms: int, count: int, expected_s: float
) -> None:
    due = [DuePlan(JOB_ID, 0, 1, 1, NOW_MS + limits.AHEAD_MS)] * (count - 1) + [
        DuePlan(JOB_ID, 0, 1, 1, NOW_MS + first_ms)
    ]
    assert pause_s(due, NOW_MS) == expected_s
