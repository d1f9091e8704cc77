"""Changes of a job whose schedule counts from the end of its last run."""

from typing import Any

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.changes import JobChange, LiveRun, changed_job, edit, first_position, pause, replan, resume
from dueline.domain.endings import delete
from dueline.domain.ids import RunId, occurrence_run_id
from dueline.domain.job import Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import MisfirePolicy, Position
from dueline.domain.schedule import After, Every
from dueline.domain.states import EndReason, JobState, RunKind, RunState
from tests.domain.hands import (
    HOUR_MS,
    MINUTE_MS,
    NOW_MS,
    a_definition,
    a_job,
    a_run,
    ids,
    in_hand,
    renamed,
    with_misfire,
)

FIRST_MS = NOW_MS - 24 * HOUR_MS
EVERY_FIVE = After(5 * MINUTE_MS, FIRST_MS)
AHEAD_MS = NOW_MS + 700
UNDER_WAY = RunId(b"some-other-run-!")


def a_follower(
    position: Position, *, state: JobState = JobState.ACTIVE, schedule: After = EVERY_FIVE, **fields: Any
) -> Job:
    return a_job(state=state, position=position, definition=a_definition(schedule, **fields))


def awaiting(run_id: RunId = UNDER_WAY, **fields: Any) -> Position:
    return Position(awaiting=run_id, **fields)


def at(next_ms: int, **fields: Any) -> Position:
    return Position(next_ms=next_ms, due_ms=next_ms, **fields)


def planned_ahead() -> LiveRun:
    return a_run(AHEAD_MS)


def untouched(change: JobChange) -> bool:
    named = (change.unplan, change.hold, change.free, change.cancel, change.runs, change.unfired)
    return named == ((),) * len(named)


@pytest.mark.parametrize("first_ms", [NOW_MS - HOUR_MS, NOW_MS, NOW_MS + HOUR_MS])
def test_a_new_job_begins_with_its_first_instant_or_at_once(first_ms: int) -> None:
    begun = first_position(After(MINUTE_MS, first_ms, max_runs=3), {}, now_ms=NOW_MS)
    assert begun == at(max(first_ms, NOW_MS), runs_left=3)


def test_pausing_and_editing_leave_what_is_awaited() -> None:
    hand = in_hand(a_follower(awaiting(runs_left=2)))
    for change in (pause(hand, note=None), edit(hand, renamed(hand.job.definition))):
        assert change.position == awaiting(runs_left=2)
        assert untouched(change)
    assert pause(hand, note=None).state is JobState.PAUSED


def test_a_paused_job_that_awaits_a_run_goes_on_awaiting_it() -> None:
    hand = in_hand(a_follower(awaiting(), state=JobState.PAUSED))
    change = resume(hand)
    assert (change.state, change.position) == (JobState.ACTIVE, awaiting())
    assert untouched(change)


def test_a_run_planned_ahead_that_is_awaited_is_taken_back_by_pause_and_edit() -> None:
    planned = planned_ahead()
    limited = After(5 * MINUTE_MS, FIRST_MS, max_runs=4)
    hand = in_hand(a_follower(awaiting(planned.id, runs_left=2), schedule=limited), planned)
    for change in (pause(hand, note=None), edit(hand, renamed(hand.job.definition))):
        assert change.unplan == ids(planned)
        assert change.position == at(AHEAD_MS, runs_left=3)


def test_a_run_that_is_due_stays_awaited() -> None:
    due = a_run(NOW_MS)
    hand = in_hand(a_follower(awaiting(due.id)), due)
    assert edit(hand, renamed(hand.job.definition)).position == awaiting(due.id)
    paused = pause(hand, note=None)
    assert (paused.position, paused.hold) == (awaiting(due.id), ids(due))


def test_a_paused_job_remembers_when_it_was_to_go_on_and_has_nothing_to_act_on() -> None:
    hand = in_hand(a_follower(at(NOW_MS + MINUTE_MS)))
    change = pause(hand, note=None)
    assert change.position == at(NOW_MS + MINUTE_MS)
    assert changed_job(hand, change).position == Position(next_ms=NOW_MS + MINUTE_MS)


def test_a_job_that_is_resumed_before_its_time_waits_for_it() -> None:
    change = resume(in_hand(a_follower(at(NOW_MS + 1), state=JobState.PAUSED)))
    assert (change.state, change.position) == (JobState.ACTIVE, at(NOW_MS + 1))
    assert untouched(change)


@pytest.mark.parametrize("policy", MisfirePolicy)
@pytest.mark.parametrize("late_ms", [0, 2 * HOUR_MS])
def test_a_job_that_is_resumed_past_its_time_runs_at_once_and_awaits_that_run(
    policy: MisfirePolicy, late_ms: int
) -> None:
    definition = with_misfire(policy, EVERY_FIVE, window_ms=0)
    job = a_job(state=JobState.PAUSED, position=at(NOW_MS - late_ms, runs_left=2), definition=definition)
    change = resume(in_hand(job))
    (run,) = change.runs
    assert run.id == occurrence_run_id(job.id, NOW_MS - late_ms, RunKind.SCHEDULED)
    assert (change.state, change.position) == (JobState.ACTIVE, awaiting(run.id, runs_left=1))
    assert change.unfired == ()


def test_the_last_run_of_a_resumed_job_ends_its_schedule() -> None:
    job = a_follower(at(NOW_MS - 1, runs_left=1), state=JobState.PAUSED, schedule=After(1_000, FIRST_MS, max_runs=4))
    change = resume(in_hand(job))
    assert (len(change.runs), change.state) == (1, JobState.FINISHED)
    assert (change.position.next_ms, change.position.awaiting) == (None, None)


def test_a_job_that_is_resumed_behind_its_end_is_finished() -> None:
    schedule = After(MINUTE_MS, FIRST_MS, end_ms=NOW_MS - HOUR_MS)
    change = resume(in_hand(a_follower(at(NOW_MS - MINUTE_MS), state=JobState.PAUSED, schedule=schedule)))
    assert (change.state, change.runs, change.position) == (JobState.FINISHED, (), Position())


def test_a_deleted_job_awaits_nothing() -> None:
    planned = planned_ahead()
    change = delete(in_hand(a_follower(awaiting(planned.id)), planned))
    assert (change.position, change.unplan, change.cancel, change.unfired) == (Position(), ids(planned), (), ())
    due = a_run(NOW_MS, RunState.RETRYING, begun=True)
    change = delete(in_hand(a_follower(awaiting(due.id)), due))
    assert (change.position, change.cancel) == (Position(), ((due.id, EndReason.JOB_DELETED),))


def test_a_deleted_job_that_was_due_tells_so() -> None:
    change = delete(in_hand(a_follower(at(NOW_MS - 5))))
    assert change.unfired == (Unfired(NOW_MS - 5, NOW_MS, Verdict.SKIPPED, SkipReason.JOB_DELETED),)


def test_another_delay_counts_from_the_run_that_is_awaited_already() -> None:
    longer = a_definition(After(HOUR_MS, FIRST_MS))
    assert edit(in_hand(a_follower(awaiting())), longer).position == awaiting()


@pytest.mark.parametrize(("limit", "left"), [(None, None), (10, 10)])
def test_another_limit_counts_anew(limit: int | None, left: int | None) -> None:
    limited = After(5 * MINUTE_MS, FIRST_MS, max_runs=4)
    hand = in_hand(a_follower(awaiting(runs_left=2), schedule=limited))
    changed = edit(hand, a_definition(After(5 * MINUTE_MS, FIRST_MS, max_runs=limit)))
    assert changed.position == awaiting(runs_left=left)


def test_a_limit_that_stays_goes_on_being_counted() -> None:
    limited = After(5 * MINUTE_MS, FIRST_MS, max_runs=4)
    hand = in_hand(a_follower(awaiting(runs_left=2), schedule=limited))
    changed = edit(hand, a_definition(After(HOUR_MS, FIRST_MS, max_runs=4)))
    assert changed.position == awaiting(runs_left=2)


def test_a_job_that_has_not_begun_begins_when_the_new_schedule_says() -> None:
    hand = in_hand(a_follower(at(NOW_MS + HOUR_MS), schedule=After(MINUTE_MS, NOW_MS + HOUR_MS)))
    changed = edit(hand, a_definition(After(MINUTE_MS, NOW_MS + MINUTE_MS)))
    assert changed.position == at(NOW_MS + MINUTE_MS)


def test_a_run_that_an_edit_writes_for_what_was_due_is_awaited() -> None:
    # Else it may end before the scheduler comes to await it, and the schedule would wait for ever.
    hand = in_hand(a_follower(at(NOW_MS - 5, runs_left=3), schedule=After(MINUTE_MS, FIRST_MS, max_runs=4)))
    change = edit(hand, a_definition(After(HOUR_MS, FIRST_MS, max_runs=4)))
    if change.runs:
        assert change.position == awaiting(change.runs[0].id, runs_left=2)
    else:
        assert change.position == at(NOW_MS - 5, runs_left=3)


def test_what_was_due_of_a_paused_job_is_either_given_up_or_kept_by_an_edit() -> None:
    hand = in_hand(a_follower(at(NOW_MS - 5), state=JobState.PAUSED))
    change = edit(hand, a_definition(After(HOUR_MS, FIRST_MS)))
    given_up = bool(change.unfired)
    kept = change.position.next_ms == NOW_MS - 5
    assert given_up is not kept


def test_one_run_at_a_time_is_made_also_when_the_first_instant_was_edited_to_a_later_one() -> None:
    # The position stays where the last run put it, before the new first instant.
    job = a_follower(at(NOW_MS - 5_000), state=JobState.PAUSED, schedule=After(MINUTE_MS, NOW_MS - 1_000))
    change = resume(in_hand(job))
    assert change.position == awaiting(change.runs[-1].id)
    assert len(change.runs) == 1


def test_another_kind_of_schedule_awaits_nothing_and_takes_runs_planned_ahead_back() -> None:
    planned = planned_ahead()
    hourly = Every(HOUR_MS, NOW_MS + 5_000)
    change = edit(in_hand(a_follower(awaiting(planned.id)), planned), a_definition(hourly))
    assert (change.position, change.unplan) == (at(NOW_MS + 5_000), ids(planned))
    assert edit(in_hand(a_follower(awaiting())), a_definition(None)).position == Position()


def test_looking_again_changes_nothing() -> None:
    for position in (awaiting(), at(NOW_MS + MINUTE_MS), at(NOW_MS - MINUTE_MS)):
        job = a_follower(position)
        assert replan(in_hand(job)).position == position


def test_a_delay_that_ends_on_an_excluded_day_does_not_end_the_schedule() -> None:
    # The 1st of January 2026 is a Thursday.
    definition = a_definition(After(MINUTE_MS, FIRST_MS, calendars=("thursdays",)))
    job = a_job(state=JobState.PAUSED, position=at(NOW_MS), definition=definition)
    change = resume(in_hand(job, calendars={"thursdays": Calendar(weekdays=(3,))}))
    assert change.state is JobState.ACTIVE
