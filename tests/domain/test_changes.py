"""Edit and delete: what a change of a job does to its plan and to its runs (X3, X4, E16)."""

import msgspec
import pytest

from dueline.domain.changes import check_version, edit, first_position, pause
from dueline.domain.endings import delete
from dueline.domain.errors import VersionMismatch
from dueline.domain.job import Definition
from dueline.domain.planning import Position
from dueline.domain.schedule import At, Cron, Every, Schedule
from dueline.domain.states import EndReason, HeldReason, JobState, RunKind, RunState
from tests.domain.hands import (
    EVERY_MINUTE,
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    a_definition,
    a_job,
    a_run,
    ids,
    in_hand,
    paused_run,
    renamed,
)

HOURLY = Every(HOUR_MS, NOW_MS + 5_000)
AHEAD_MS = NOW_MS + 700


@pytest.mark.parametrize(
    ("schedule", "first_ms"),
    [
        (None, None),
        (At(NOW_MS + 1), NOW_MS + 1),
        (At(NOW_MS - 30_000), NOW_MS - 30_000),
        (Every(MINUTE_MS, NOW_MS), NOW_MS + MINUTE_MS),
        (Every(MINUTE_MS, NOW_MS + 1), NOW_MS + 1),
        (Cron("0 0 * * *"), NOW_MS + 24 * HOUR_MS),
    ],
)
def test_the_first_occurrence_lies_ahead_unless_it_is_the_only_one(
    schedule: Schedule | None, first_ms: int | None
) -> None:
    assert first_position(schedule, {}, now_ms=NOW_MS) == Position(next_ms=first_ms, due_ms=first_ms)


def test_an_edit_that_leaves_the_schedule_leaves_the_plan() -> None:
    # Wherever the plan stands: behind, at this very moment, or ahead.
    for next_ms in (NOW_MS - HOUR_MS, NOW_MS, NOW_MS + 1, NOW_MS + MINUTE_MS):
        change = edit(in_hand(a_job(next_ms=next_ms)), renamed(a_definition()))
        assert (change.position.next_ms, change.state, change.unplan) == (next_ms, JobState.ACTIVE, ())
        assert change.definition == renamed(a_definition())


def test_a_run_planned_ahead_is_planned_again_so_that_it_gets_the_new_version() -> None:
    planned = a_run(AHEAD_MS)
    change = edit(in_hand(a_job(next_ms=AHEAD_MS + MINUTE_MS), planned), renamed(a_definition()))
    assert change.unplan == ids(planned)
    assert change.position.next_ms == AHEAD_MS


def test_several_runs_planned_ahead_go_back_to_the_first_of_them() -> None:
    planned = [a_run(NOW_MS + offset_ms) for offset_ms in (1, 500, 1_000)]
    change = edit(in_hand(a_job(next_ms=NOW_MS + 1_500), *planned), renamed(a_definition()))
    assert change.unplan == ids(*planned)
    assert change.position.next_ms == NOW_MS + 1


@pytest.mark.parametrize("state", [RunState.READY, RunState.RUNNING, RunState.HELD])
def test_a_run_that_is_not_due_is_taken_back_also_from_a_worker_or_a_wait(state: RunState) -> None:
    planned = a_run(AHEAD_MS, state)
    change = edit(in_hand(a_job(), planned), a_definition(HOURLY))
    assert change.unplan == ids(planned)
    assert change.position.next_ms == HOURLY.anchor_ms


def test_a_run_that_is_due_this_millisecond_keeps_its_version() -> None:
    due, ahead = a_run(NOW_MS), a_run(NOW_MS + 1)
    change = edit(in_hand(a_job(next_ms=NOW_MS + MINUTE_MS), due, ahead), a_definition(HOURLY))
    assert change.unplan == ids(ahead)
    assert (change.hold, change.free, change.cancel) == ((), (), ())


def test_waiting_retries_and_asked_for_runs_keep_their_version() -> None:
    runs = [
        a_run(NOW_MS - HOUR_MS, RunState.RETRYING, begun=True, due_ms=NOW_MS + 500),
        a_run(NOW_MS - MINUTE_MS, RunState.HELD, reason=HeldReason.OVERLAP),
        a_run(NOW_MS + 500, RunState.SCHEDULED, kind=RunKind.MANUAL),
        a_run(NOW_MS + 400, RunState.SCHEDULED, kind=RunKind.BACKFILL),
    ]
    change = edit(in_hand(a_job(), *runs), a_definition(HOURLY))
    assert (change.unplan, change.hold, change.free, change.cancel) == ((), (), (), ())


def test_a_new_schedule_counts_from_now() -> None:
    change = edit(in_hand(a_job(next_ms=NOW_MS + MINUTE_MS)), a_definition(HOURLY))
    assert change.position.next_ms == HOURLY.anchor_ms


@pytest.mark.parametrize("overdue_ms", [0, 1, HOUR_MS])
def test_an_occurrence_that_is_overdue_is_not_lost_to_a_new_schedule(overdue_ms: int) -> None:
    job = a_job(next_ms=NOW_MS - overdue_ms)
    change = edit(in_hand(job), a_definition(HOURLY))
    assert change.position.next_ms == HOURLY.anchor_ms, "the new schedule begins now"
    assert {run.scheduled_ms for run in change.runs} <= set(range(NOW_MS - overdue_ms, NOW_MS + 1))
    assert {run.version for run in change.runs} == {job.version}, "what was due is decided by the old one"


def test_what_a_paused_job_missed_goes_with_its_schedule() -> None:
    job = a_job(next_ms=NOW_MS - HOUR_MS, state=JobState.PAUSED)
    change = edit(in_hand(job), a_definition(HOURLY))
    assert (change.runs, change.position.next_ms) == ((), HOURLY.anchor_ms)


def test_an_occurrence_due_in_a_millisecond_is_not_overdue() -> None:
    assert edit(in_hand(a_job(next_ms=NOW_MS + 1)), a_definition(HOURLY)).position.next_ms == HOURLY.anchor_ms


def test_a_job_without_a_schedule_gets_its_first_occurrence() -> None:
    job = a_job(next_ms=None, definition=a_definition(None))
    change = edit(in_hand(job), a_definition(HOURLY))
    assert (change.position.next_ms, change.state) == (HOURLY.anchor_ms, JobState.ACTIVE)


@pytest.mark.parametrize("next_ms", [NOW_MS - HOUR_MS, NOW_MS, NOW_MS + MINUTE_MS])
@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_without_a_schedule_nothing_is_planned_any_more(next_ms: int, state: JobState) -> None:
    # A plan without a schedule, once due, would stop the scheduler of its shard.
    planned = a_run(AHEAD_MS)
    change = edit(in_hand(a_job(state=state, next_ms=next_ms), planned), a_definition(None))
    assert (change.position.next_ms, change.state) == (None, state)
    assert change.unplan == ids(planned)


@pytest.mark.parametrize("definition", [a_definition(HOURLY), a_definition(At(NOW_MS + HOUR_MS)), a_definition(None)])
def test_a_finished_job_is_revived_by_another_schedule(definition: Definition) -> None:
    job = a_job(state=JobState.FINISHED, next_ms=None, definition=a_definition(At(NOW_MS - HOUR_MS)))
    change = edit(in_hand(job), definition)
    assert change.state is JobState.ACTIVE
    assert change.position == first_position(definition.schedule, {}, now_ms=NOW_MS)


def test_a_finished_job_stays_finished_while_its_schedule_stays() -> None:
    definition = a_definition(At(NOW_MS - HOUR_MS))
    job = a_job(state=JobState.FINISHED, next_ms=None, definition=definition)
    change = edit(in_hand(job), renamed(definition))
    assert (change.state, change.position.next_ms) == (JobState.FINISHED, None)


def test_a_one_time_job_can_be_edited_in_its_last_second() -> None:
    # Its only run is written ahead, and the job counts as finished; both are taken back.
    definition = a_definition(At(AHEAD_MS))
    job, planned = a_job(state=JobState.FINISHED, next_ms=None, definition=definition), a_run(AHEAD_MS)
    kept = edit(in_hand(job, planned), renamed(definition))
    assert (kept.state, kept.position.next_ms, kept.unplan) == (JobState.ACTIVE, AHEAD_MS, ids(planned))
    moved = edit(in_hand(job, planned), a_definition(At(NOW_MS + HOUR_MS)))
    assert (moved.state, moved.position.next_ms, moved.unplan) == (JobState.ACTIVE, NOW_MS + HOUR_MS, ids(planned))


def test_a_paused_job_stays_paused_with_its_note() -> None:
    job = a_job(state=JobState.PAUSED, pause_note="until Monday")
    held = paused_run(NOW_MS - MINUTE_MS)
    change = edit(in_hand(job, held), a_definition(HOURLY))
    assert (change.state, change.pause_note, change.position.next_ms) == (
        JobState.PAUSED,
        "until Monday",
        HOURLY.anchor_ms,
    )
    assert (change.unplan, change.hold, change.free, change.cancel) == ((), (), (), ())


@pytest.mark.parametrize("overdue_ms", [-1, 0, HOUR_MS])
def test_a_schedule_that_is_replaced_while_paused_counts_from_now(overdue_ms: int) -> None:
    # Else a one-time job that was paused and moved would run twice: at once when resumed, and when it was moved to.
    job = a_job(state=JobState.PAUSED, next_ms=NOW_MS - overdue_ms, definition=a_definition(At(NOW_MS - overdue_ms)))
    assert edit(in_hand(job), a_definition(At(NOW_MS + HOUR_MS))).position.next_ms == NOW_MS + HOUR_MS
    assert edit(in_hand(job), a_definition(HOURLY)).position.next_ms == HOURLY.anchor_ms
    assert edit(in_hand(job), renamed(job.definition)).position.next_ms == NOW_MS - overdue_ms


def test_a_wrong_version_is_refused_by_edit_and_delete() -> None:
    hand = in_hand(a_job())
    for expected_version in (2, 4):
        with pytest.raises(VersionMismatch, match="at version 3"):
            edit(hand, a_definition(), expected_version=expected_version)
        with pytest.raises(VersionMismatch, match="at version 3"):
            delete(hand, expected_version=expected_version)


def test_the_right_version_and_none_are_taken() -> None:
    for expected_version in (3, None):
        check_version(a_job(), expected_version)
        edit(in_hand(a_job()), a_definition(), expected_version=expected_version)
        delete(in_hand(a_job()), expected_version=expected_version)


def test_a_deleted_job_is_planned_no_more_and_its_unstarted_runs_end() -> None:
    waiting = [
        a_run(NOW_MS),
        a_run(NOW_MS - MINUTE_MS, RunState.HELD, reason=HeldReason.OVERLAP),
        paused_run(NOW_MS - 2 * MINUTE_MS),
        a_run(NOW_MS - HOUR_MS, RunState.RETRYING, begun=True, due_ms=NOW_MS + HOUR_MS),
        a_run(NOW_MS + HOUR_MS, RunState.SCHEDULED, kind=RunKind.MANUAL),
    ]
    planned = [a_run(AHEAD_MS), a_run(AHEAD_MS + 1, RunState.RUNNING)]
    change = delete(in_hand(a_job(next_ms=NOW_MS + MINUTE_MS), *waiting, *planned))
    assert change.deleted
    assert change.position.next_ms is None
    assert change.unplan == ids(*planned)
    assert dict(change.cancel) == dict.fromkeys(ids(*waiting), EndReason.JOB_DELETED)


def test_a_retry_that_waits_in_the_hands_of_a_worker_is_cancelled_or_held() -> None:
    retried = a_run(NOW_MS - HOUR_MS, RunState.RUNNING, begun=True, due_ms=NOW_MS + 500)
    deleted = delete(in_hand(a_job(), retried))
    assert (deleted.cancel, deleted.unplan) == (((retried.id, EndReason.JOB_DELETED),), ())
    paused = pause(in_hand(a_job(), retried), note=None)
    assert (paused.hold, paused.unplan) == ((retried.id,), ())


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED, JobState.FINISHED])
def test_a_job_can_be_deleted_in_any_state(state: JobState) -> None:
    change = delete(in_hand(a_job(state=state)))
    assert change.deleted
    assert change.position.next_ms is None


def test_a_change_says_nothing_of_runs_when_there_are_none() -> None:
    for change in (edit(in_hand(a_job()), a_definition(HOURLY)), delete(in_hand(a_job()))):
        assert (change.unplan, change.hold, change.free, change.cancel) == ((), (), (), ())


def test_only_the_schedule_decides_whether_the_plan_moves() -> None:
    definition = msgspec.structs.replace(a_definition(), queue="slow", priority=1, tags=("a",))
    assert edit(in_hand(a_job(next_ms=NOW_MS + 7)), definition).position.next_ms == NOW_MS + 7
    assert definition.schedule == EVERY_MINUTE
