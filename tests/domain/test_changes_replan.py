"""Looking at a plan again when a calendar or the rules of a zone changed, and what edits do to limits and to what is due."""

from datetime import UTC, datetime
from typing import Any

import pytest

from dueline.domain.calendars import Calendar
from dueline.domain.changes import JobChange, changed_job, edit, pause, replan, resume
from dueline.domain.endings import delete
from dueline.domain.firetimes import compile_schedule
from dueline.domain.job import Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import MisfirePolicy, Position
from dueline.domain.schedule import At, Cron, Every, Schedule
from dueline.domain.states import JobState
from tests.domain.hands import (
    EVERY_MINUTE,
    GRACE_MS,
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
    with_misfire,
)

DAY_MS = 24 * HOUR_MS
TODAY = datetime.fromtimestamp(NOW_MS / 1000, UTC).toordinal()
AT_NINE = Cron("0 9 * * *", calendars=("holidays",))
NINE_MS = NOW_MS + 9 * HOUR_MS
FIRE_ALL = MisfirePolicy.FIRE_ALL


def off(*days: int) -> dict[str, Calendar]:
    """Holidays, counted from today."""
    return {"holidays": Calendar(ranges=tuple((TODAY + day, TODAY + day) for day in days))}


def at(next_ms: int | None, due_ms: int | None = None, **fields: Any) -> Position:
    return Position(next_ms=next_ms, due_ms=due_ms or next_ms, **fields)


def planned(position: Position, schedule: Schedule = AT_NINE, state: JobState = JobState.ACTIVE) -> Job:
    return a_job(state=state, position=position, definition=a_definition(schedule))


def unchanged(change: JobChange) -> bool:
    named = (change.unplan, change.hold, change.free, change.cancel, change.runs, change.unfired, change.stale)
    return named == ((), (), (), (), (), (), False)


def test_a_new_holiday_moves_the_due_time_and_leaves_the_occurrence_to_be_told() -> None:
    change = replan(in_hand(planned(at(NINE_MS, runs_left=4)), calendars=off(0, 1)))
    assert change.position == at(NINE_MS, NINE_MS + 2 * DAY_MS, runs_left=4)
    assert change.state is JobState.ACTIVE
    assert unchanged(change)


def test_a_holiday_that_is_taken_away_brings_its_occurrence_back() -> None:
    hand = in_hand(planned(at(NINE_MS, NINE_MS + DAY_MS)), calendars={})
    assert replan(hand).position == at(NINE_MS)


def test_what_passed_on_a_holiday_stays_skipped_when_the_holiday_is_taken_away() -> None:
    now_ms = NINE_MS + HOUR_MS
    hand = in_hand(planned(at(NINE_MS, NINE_MS + DAY_MS)), now_ms=now_ms, calendars={})
    change = replan(hand)
    assert change.position == at(NINE_MS + DAY_MS)
    assert change.unfired == (Unfired(NINE_MS, now_ms, Verdict.SKIPPED, SkipReason.CALENDAR),)
    assert change.runs == ()


def test_what_is_due_is_left_to_the_scheduler() -> None:
    for due_ms in (NOW_MS, NOW_MS - HOUR_MS):
        hand = in_hand(planned(at(due_ms), Every(HOUR_MS, NOW_MS - DAY_MS, calendars=("holidays",))), calendars=off(0))
        change = replan(hand)
        assert change.position == at(due_ms)
        assert unchanged(change)


def test_runs_planned_ahead_stay_and_the_plan_goes_on_behind_them() -> None:
    schedule = Every(500, NOW_MS - DAY_MS, calendars=("holidays",))
    ahead = [a_run(NOW_MS + 500), a_run(NOW_MS + 1_000)]
    hand = in_hand(planned(at(NOW_MS + 1_500), schedule), *ahead, calendars={})
    change = replan(hand)
    assert (change.position, change.unplan) == (at(NOW_MS + 1_500), ())


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.FINISHED])
def test_a_job_that_plans_nothing_is_left_as_it_is(state: JobState) -> None:
    position = Position(next_ms=NINE_MS) if state is JobState.PAUSED else Position()
    change = replan(in_hand(planned(position, state=state), calendars=off(0)))
    assert (change.state, change.position) == (state, position)
    assert unchanged(change)


def test_a_paused_job_keeps_its_note() -> None:
    job = a_job(state=JobState.PAUSED, pause_note="why", definition=a_definition(AT_NINE))
    assert replan(in_hand(job)).pause_note == "why"


def test_a_job_of_which_nothing_fires_waits_for_its_time_to_tell_so() -> None:
    # The calendar may change again until then.
    once = At(NINE_MS, calendars=("holidays",))
    change = replan(in_hand(planned(at(NINE_MS), once), calendars=off(0)))
    assert (change.state, change.position) == (JobState.ACTIVE, at(NINE_MS))


def test_a_zone_with_new_rules_moves_the_next_occurrence() -> None:
    # As if the plan had been made when Berlin was an hour further.
    berlin = Cron("0 9 * * *", timezone="Europe/Berlin")
    change = replan(in_hand(planned(at(NINE_MS - 2 * HOUR_MS), berlin)))
    assert change.position == at(NINE_MS - HOUR_MS)
    assert unchanged(change)


def test_looking_again_twice_changes_nothing_more() -> None:
    hand = in_hand(planned(at(NINE_MS)), calendars=off(0, 1))
    once = changed_job(hand, replan(hand))
    again = replan(in_hand(once, calendars=off(0, 1)))
    assert again.position == once.position
    assert (once.version, once.since_ms) == (hand.job.version, hand.job.since_ms)


def test_a_calendar_that_is_not_there_any_more_excludes_nothing() -> None:
    change = edit(in_hand(planned(at(NINE_MS))), a_definition(Cron("0 10 * * *", calendars=("gone",))), calendars={})
    assert change.position == at(NOW_MS + 10 * HOUR_MS)
    assert change.stale, "it may have been written meanwhile"


def test_a_new_schedule_is_planned_by_the_calendars_that_it_names() -> None:
    change = edit(in_hand(planned(at(NINE_MS), Cron("0 8 * * *"))), a_definition(AT_NINE), calendars=off(0))
    assert change.position == at(NINE_MS, NINE_MS + DAY_MS)
    assert change.stale


def test_an_edit_without_calendars_is_not_stale() -> None:
    assert not edit(in_hand(a_job()), a_definition(Every(HOUR_MS, NOW_MS))).stale
    assert not edit(in_hand(a_job()), a_definition(None)).stale


def limited(most: int | None, period_ms: int = MINUTE_MS) -> Every:
    return Every(period_ms, NOW_MS - DAY_MS, max_runs=most)


@pytest.mark.parametrize(
    ("before", "after", "left"),
    [
        (limited(10), limited(10, HOUR_MS), 4),
        (limited(10), limited(20), 20),
        (limited(10), limited(None), None),
        (limited(None), limited(10), 10),
        (limited(10), Cron("0 9 * * *", max_runs=10), 4),
    ],
)
def test_the_count_of_runs_goes_on_while_the_limit_stays(before: Schedule, after: Schedule, left: int | None) -> None:
    runs_left = None if before.max_runs is None else 4
    change = edit(in_hand(planned(at(NOW_MS + 5, runs_left=runs_left), before)), a_definition(after))
    assert change.position.runs_left == left
    assert change.state is JobState.ACTIVE


def test_another_name_leaves_the_count() -> None:
    hand = in_hand(planned(at(NOW_MS + 5, runs_left=4), limited(10)))
    assert edit(hand, renamed(hand.job.definition)).position == at(NOW_MS + 5, runs_left=4)


def test_runs_that_are_taken_back_are_counted_back() -> None:
    ahead = [a_run(NOW_MS + 300), a_run(NOW_MS + 600)]
    hand = in_hand(planned(at(NOW_MS + 900, runs_left=4), limited(10)), *ahead)
    for change in (pause(hand, note=None), edit(hand, renamed(hand.job.definition))):
        assert change.position == at(NOW_MS + 300, runs_left=6)
    assert edit(hand, a_definition(limited(10, HOUR_MS))).position.runs_left == 6


def test_the_last_run_of_a_limit_can_be_taken_back_too() -> None:
    ahead = a_run(NOW_MS + 300)
    hand = in_hand(a_job(state=JobState.FINISHED, next_ms=None, definition=a_definition(limited(10))), ahead)
    change = pause(hand, note=None)
    assert (change.state, change.position, change.unplan) == (
        JobState.PAUSED,
        at(NOW_MS + 300, runs_left=1),
        ids(ahead),
    )


def test_what_an_edit_writes_for_what_was_due_is_counted() -> None:
    hand = in_hand(planned(at(NOW_MS - 5_000, runs_left=4), limited(10, 1_000)))
    change = edit(hand, a_definition(limited(10, HOUR_MS)))
    assert (len(change.runs), change.position.runs_left, change.state) == (4, None, JobState.FINISHED)
    hand = in_hand(planned(at(NOW_MS - 1_000, runs_left=4), limited(10, 1_000)))
    change = edit(hand, a_definition(limited(10, HOUR_MS)))
    assert (len(change.runs), change.position.runs_left, change.state) == (2, 2, JobState.ACTIVE)


def test_what_was_missed_before_an_edit_is_decided_and_told_by_the_old_schedule() -> None:
    job = a_job(next_ms=NOW_MS - HOUR_MS)
    change = edit(in_hand(job), a_definition(Every(HOUR_MS, NOW_MS + 5_000)))
    assert [run.scheduled_ms for run in change.runs] == [NOW_MS - MINUTE_MS, NOW_MS]
    assert change.unfired == (Unfired(NOW_MS - HOUR_MS, NOW_MS - MINUTE_MS - 1, Verdict.COALESCED),)
    assert [(run.due_ms, run.version) for run in change.runs] == [(NOW_MS, 3), (NOW_MS, 3)]


@pytest.mark.parametrize("overdue_ms", [0, HOUR_MS])
def test_what_a_paused_job_missed_is_given_up_with_its_schedule(overdue_ms: int) -> None:
    job = a_job(state=JobState.PAUSED, next_ms=NOW_MS - overdue_ms)
    change = edit(in_hand(job), a_definition(Every(HOUR_MS, NOW_MS + 5_000)))
    assert change.unfired == (Unfired(NOW_MS - overdue_ms, NOW_MS, Verdict.SKIPPED, SkipReason.REPLACED),)
    assert change.runs == ()


def test_a_paused_job_gives_nothing_up_that_is_not_due_or_keeps_its_schedule() -> None:
    ahead = a_job(state=JobState.PAUSED, next_ms=NOW_MS + 1)
    assert edit(in_hand(ahead), a_definition(Every(HOUR_MS, 0))).unfired == ()
    overdue = a_job(state=JobState.PAUSED, next_ms=NOW_MS - HOUR_MS)
    assert edit(in_hand(overdue), renamed(a_definition())).unfired == ()


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_a_deleted_job_tells_of_what_was_due(state: JobState) -> None:
    for overdue_ms in (0, HOUR_MS):
        change = delete(in_hand(a_job(state=state, next_ms=NOW_MS - overdue_ms)))
        assert change.unfired == (Unfired(NOW_MS - overdue_ms, NOW_MS, Verdict.SKIPPED, SkipReason.JOB_DELETED),)
    assert delete(in_hand(a_job(state=state, next_ms=NOW_MS + 1))).unfired == ()


def test_a_resumed_job_runs_what_its_policy_says_and_tells_of_the_rest_as_paused() -> None:
    definition = with_misfire(FIRE_ALL, EVERY_MINUTE, cap=2)
    change = resume(in_hand(a_job(state=JobState.PAUSED, next_ms=NOW_MS - 10 * MINUTE_MS, definition=definition)))
    assert [run.scheduled_ms for run in change.runs] == [NOW_MS - 2 * MINUTE_MS, NOW_MS - MINUTE_MS, NOW_MS]
    assert change.unfired == (
        Unfired(NOW_MS - 10 * MINUTE_MS, NOW_MS - 2 * MINUTE_MS - 1, Verdict.SKIPPED, SkipReason.PAUSED),
    )
    assert (change.state, change.position) == (JobState.ACTIVE, at(NOW_MS + MINUTE_MS))


def test_held_and_missed_occurrences_share_the_cap() -> None:
    definition = with_misfire(FIRE_ALL, EVERY_MINUTE, cap=3)
    held = [paused_run(NOW_MS - minutes * MINUTE_MS) for minutes in (7, 6, 5, 4)]
    job = a_job(state=JobState.PAUSED, next_ms=NOW_MS - 2 * MINUTE_MS, definition=definition)
    change = resume(in_hand(job, *held))
    assert [run.scheduled_ms for run in change.runs] == [NOW_MS - 2 * MINUTE_MS, NOW_MS - MINUTE_MS, NOW_MS]
    assert change.free == ids(held[-1])
    assert {run_id for run_id, _ in change.cancel} == set(ids(*held[:-1]))


def test_a_resumed_job_that_has_had_its_runs_is_finished() -> None:
    job = planned(at(NOW_MS - HOUR_MS, runs_left=1), limited(10), JobState.PAUSED)
    change = resume(in_hand(job))
    assert (len(change.runs), change.state, change.position.next_ms) == (1, JobState.FINISHED, None)


def test_a_resumed_job_passes_over_holidays_and_tells_why() -> None:
    job = planned(at(NINE_MS - DAY_MS), state=JobState.PAUSED)
    change = resume(in_hand(job, calendars=off(-1, 0)))
    assert change.unfired == (Unfired(NINE_MS - DAY_MS, NINE_MS - DAY_MS, Verdict.SKIPPED, SkipReason.CALENDAR),)
    assert (change.runs, change.position) == ((), at(NINE_MS, NINE_MS + DAY_MS))


@pytest.mark.parametrize("late_ms", [0, GRACE_MS, GRACE_MS + 1, DAY_MS])
def test_a_one_time_job_that_is_resumed_late_runs_and_is_finished(late_ms: int) -> None:
    job = planned(at(NOW_MS - late_ms), At(NOW_MS - late_ms), JobState.PAUSED)
    change = resume(in_hand(job))
    assert [run.scheduled_ms for run in change.runs] == [NOW_MS - late_ms]
    assert (change.state, change.position, change.unfired) == (JobState.FINISHED, Position(), ())


def test_the_schedules_here_fire_when_the_tests_say() -> None:
    assert compile_schedule(AT_NINE).next_after(NOW_MS) == NINE_MS
