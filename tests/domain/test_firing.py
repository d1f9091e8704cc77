"""The runs of decided occurrences: when each is due, and how it stands among the others."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.firetimes import compile_schedule
from dueline.domain.firing import jitter_of, make_run, make_runs
from dueline.domain.ids import JobId, new_job_id, occurrence_run_id
from dueline.domain.job import JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Plan
from dueline.domain.run import NewRun
from dueline.domain.schedule import ChangedOccurrence, Every, Schedule
from dueline.domain.states import RunKind
from tests.domain.hands import EVERY_MINUTE, HOUR_MS, MINUTE_MS, NOW_MS, a_definition

JOB_ID = new_job_id(NOW_MS - 1, bytes(10))
jobs = st.binary(min_size=16, max_size=16).map(JobId)
instants = st.integers(0, 1 << 47)


def a_version(schedule: Schedule | None = EVERY_MINUTE, **fields: Any) -> JobVersion:
    return JobVersion(JOB_ID, 3, "acme", a_definition(schedule, **fields))


def runs_of(schedule: Schedule, *, missed: tuple[int, ...] = (), on_time: tuple[int, ...] = ()) -> list[NewRun]:
    plan = Plan(missed, on_time, None, None)
    return list(make_runs(a_version(schedule), compile_schedule(schedule), plan, now_ms=NOW_MS, token=5))


def test_a_run_is_made_from_its_version() -> None:
    version = a_version(
        queue="slow", priority=7, region="eu", tags=("a", "b"), overlap=Overlap.ALLOW, fairness_key="customer-1"
    )
    run = make_run(version, NOW_MS, due_ms=NOW_MS + 9, token=5)
    assert run.id == occurrence_run_id(JOB_ID, NOW_MS, RunKind.SCHEDULED)
    assert (run.job_id, run.version, run.tenant, run.kind) == (JOB_ID, 3, "acme", RunKind.SCHEDULED)
    assert (run.queue, run.priority, run.region, run.tags) == ("slow", 7, "eu", ("a", "b"))
    assert (run.scheduled_ms, run.due_ms, run.token) == (NOW_MS, NOW_MS + 9, 5)
    assert run.timeout_ms == version.definition.execution.timeout_ms
    assert (run.spec, run.parent_id, run.overlap) == (None, None, None)
    assert (run.fairness_key, run.missed) == ("customer-1", False)


@pytest.mark.parametrize("kind", RunKind)
def test_the_kind_of_a_run_is_part_of_its_name(kind: RunKind) -> None:
    run = make_run(a_version(), NOW_MS, due_ms=NOW_MS, token=0, kind=kind)
    assert (run.kind, run.id) == (kind, occurrence_run_id(JOB_ID, NOW_MS, kind))


@pytest.mark.parametrize("own", [None, *Overlap])
@pytest.mark.parametrize("jobs_policy", Overlap)
def test_a_run_is_exclusive_unless_its_own_policy_or_else_the_jobs_allows_overlap(
    own: Overlap | None, jobs_policy: Overlap
) -> None:
    run = make_run(a_version(overlap=jobs_policy), NOW_MS, due_ms=NOW_MS, token=0, overlap=own)
    assert run.overlap is own
    assert run.exclusive is ((own or jobs_policy) is not Overlap.ALLOW)


def test_those_missed_are_due_now_and_stand_behind_those_on_time() -> None:
    missed, on_time = runs_of(EVERY_MINUTE, missed=(NOW_MS - HOUR_MS,), on_time=(NOW_MS + 500,))
    assert (missed.scheduled_ms, missed.due_ms) == (NOW_MS - HOUR_MS, NOW_MS)
    assert (on_time.scheduled_ms, on_time.due_ms) == (NOW_MS + 500, NOW_MS + 500)
    assert (missed.missed, on_time.missed) == (True, False)
    assert {missed.token, on_time.token} == {5}


def test_those_missed_can_be_spread() -> None:
    plan = Plan((NOW_MS - 2, NOW_MS - 1), (NOW_MS,), None, None)
    asked: list[int] = []

    def spread(now_ms: int) -> int:
        asked.append(now_ms)
        return now_ms + 1_000 * len(asked)

    times = compile_schedule(EVERY_MINUTE)
    runs = make_runs(a_version(), times, plan, now_ms=NOW_MS, token=0, missed_due_ms=spread)
    assert [run.due_ms for run in runs] == [NOW_MS + 1_000, NOW_MS + 2_000, NOW_MS]
    assert asked == [NOW_MS, NOW_MS]


@given(jobs, instants, st.integers(1, limits.JITTER_MS_MAX), st.none() | st.integers(1, limits.JITTER_MS_MAX))
def test_jitter_is_the_same_for_everyone_and_ends_before_the_following_occurrence(
    job_id: JobId, at_ms: int, jitter_ms: int, gap_ms: int | None
) -> None:
    following_ms = None if gap_ms is None else at_ms + gap_ms
    late_ms = jitter_of(job_id, at_ms, jitter_ms=jitter_ms, following_ms=following_ms)
    assert late_ms == jitter_of(job_id, at_ms, jitter_ms=jitter_ms, following_ms=following_ms)
    assert 0 <= late_ms < jitter_ms
    assert following_ms is None or at_ms + late_ms < following_ms


def test_jitter_spreads_jobs_and_occurrences_over_all_of_its_room() -> None:
    by_job = [jitter_of(new_job_id(n, bytes(10)), NOW_MS, jitter_ms=MINUTE_MS, following_ms=None) for n in range(1_000)]
    by_time = [jitter_of(JOB_ID, NOW_MS + n * HOUR_MS, jitter_ms=MINUTE_MS, following_ms=None) for n in range(1_000)]
    for found in (by_job, by_time):
        tenths = [sum(1 for late_ms in found if late_ms * 10 // MINUTE_MS == tenth) for tenth in range(10)]
        assert min(tenths) > 50


def test_jitter_is_what_it_was_in_every_release() -> None:
    # A scheduler of another release must make the same run of the same occurrence.
    assert jitter_of(JobId(bytes(16)), NOW_MS, jitter_ms=MINUTE_MS, following_ms=None) == 38_029


def test_on_time_runs_get_jitter_and_missed_ones_do_not() -> None:
    schedule = Every(HOUR_MS, NOW_MS % HOUR_MS, jitter_ms=MINUTE_MS)
    missed, on_time = runs_of(schedule, missed=(NOW_MS - HOUR_MS,), on_time=(NOW_MS,))
    late_ms = jitter_of(JOB_ID, NOW_MS, jitter_ms=MINUTE_MS, following_ms=NOW_MS + HOUR_MS)
    assert (missed.due_ms, on_time.due_ms) == (NOW_MS, NOW_MS + late_ms)
    assert on_time.scheduled_ms == NOW_MS


def test_jitter_has_the_room_up_to_the_next_occurrence_that_fires() -> None:
    every_second = Every(1_000, NOW_MS % 1_000, jitter_ms=HOUR_MS)
    instants = tuple(range(NOW_MS, NOW_MS + 50_000, 1_000))
    assert all(0 <= run.due_ms - run.scheduled_ms < 1_000 for run in runs_of(every_second, on_time=instants))
    gone = tuple(ChangedOccurrence(NOW_MS + number * 1_000) for number in range(1, 1_000))
    (run,) = runs_of(Every(1_000, NOW_MS % 1_000, jitter_ms=HOUR_MS, changed=gone), on_time=(NOW_MS,))
    expected_ms = jitter_of(JOB_ID, NOW_MS, jitter_ms=HOUR_MS, following_ms=NOW_MS + 1_000_000)
    assert run.due_ms == NOW_MS + expected_ms > NOW_MS + 1_000
