"""Jobs that somebody ends: cancelled for good, or deleted."""

from collections.abc import Callable

import pytest

from dueline.domain.changes import JobChange, JobInHand, changed_job, edit, pause, recover, replan, resume
from dueline.domain.endings import cancel
from dueline.domain.errors import Conflict
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Misfire, Position
from dueline.domain.schedule import At
from dueline.domain.single_changes import ChangeKind, OccurrenceChange, change_occurrence
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
    paused_run,
    renamed,
)

AHEAD_MS = NOW_MS + 700


@pytest.mark.parametrize("state", [JobState.ACTIVE, JobState.PAUSED])
def test_a_cancelled_job_plans_nothing_and_keeps_the_note(state: JobState) -> None:
    hand = in_hand(a_job(state=state, pause_note="before"))
    change = cancel(hand, note="the shop is closed")
    assert (change.state, change.position, change.deleted) == (JobState.CANCELLED, Position(), False)
    job = changed_job(hand, change)
    assert (job.version, job.pause_note, job.next_ms) == (hand.job.version, "the shop is closed", None)


def test_what_has_not_started_is_cancelled_and_what_was_only_planned_vanishes() -> None:
    waiting = [
        a_run(NOW_MS - HOUR_MS, RunState.RETRYING, begun=True, due_ms=NOW_MS + HOUR_MS),
        a_run(NOW_MS - 5_000),
        paused_run(NOW_MS - 4_000),
        a_run(NOW_MS + HOUR_MS, RunState.SCHEDULED, kind=RunKind.MANUAL),
    ]
    ahead = a_run(AHEAD_MS)
    change = cancel(in_hand(a_job(), *waiting, ahead), note=None)
    assert dict(change.cancel) == dict.fromkeys(ids(*waiting), EndReason.JOB_CANCELLED)
    assert (change.unplan, change.stop) == (ids(ahead), None)


def test_runs_under_way_are_stopped_only_when_that_is_asked_for() -> None:
    assert cancel(in_hand(a_job()), note=None, stop_running=True).stop == EndReason.JOB_CANCELLED


def test_occurrences_that_were_due_are_told_as_skipped() -> None:
    change = cancel(in_hand(a_job(next_ms=NOW_MS - MINUTE_MS)), note=None)
    assert change.unfired == (Unfired(NOW_MS - MINUTE_MS, NOW_MS, Verdict.SKIPPED, SkipReason.JOB_CANCELLED),)


def test_a_finished_job_cannot_be_cancelled() -> None:
    job = a_job(state=JobState.FINISHED, next_ms=None, definition=a_definition(At(NOW_MS - HOUR_MS)))
    with pytest.raises(Conflict, match="finished"):
        cancel(in_hand(job), note=None)


def test_a_job_whose_last_run_is_only_planned_can_be_cancelled() -> None:
    job = a_job(state=JobState.FINISHED, next_ms=None, definition=a_definition(At(AHEAD_MS)))
    ahead = a_run(AHEAD_MS)
    change = cancel(in_hand(job, ahead), note=None)
    assert (change.state, change.unplan) == (JobState.CANCELLED, ids(ahead))


def test_a_job_that_was_cancelled_keeps_its_note() -> None:
    job = a_job(state=JobState.CANCELLED, position=Position(), pause_note="first")
    assert cancel(in_hand(job), note="second", stop_running=True).pause_note == "first"


@pytest.mark.parametrize(
    "refused",
    [
        lambda hand: pause(hand, note=None),
        resume,
        lambda hand: edit(hand, renamed(hand.job.definition)),
        lambda hand: change_occurrence(hand, NOW_MS + MINUTE_MS, OccurrenceChange(ChangeKind.SKIP)),
    ],
)
def test_nothing_else_can_be_done_with_it(refused: Callable[[JobInHand], object]) -> None:
    with pytest.raises(Conflict, match="a cancelled job stays as it is"):
        refused(in_hand(a_job(state=JobState.CANCELLED, position=Position())))


def _recovered(hand: JobInHand) -> JobChange:
    return recover(hand, Misfire(), lambda now_ms: now_ms)


@pytest.mark.parametrize("look", [replan, _recovered])
def test_it_stays_as_it_is_when_zones_change_or_an_outage_is_recovered_from(
    look: Callable[[JobInHand], JobChange],
) -> None:
    hand = in_hand(a_job(state=JobState.CANCELLED, position=Position(), pause_note="why"))
    assert changed_job(hand, look(hand)) == changed_job(
        hand,
        JobChange(state=JobState.CANCELLED, definition=hand.job.definition, position=Position(), pause_note="why"),
    )
