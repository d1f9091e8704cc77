"""Pause and resume: what waits is held, and what was missed meanwhile follows the misfire policy (X1)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.changes import JobChange, JobInHand, LiveRun, edit, pause, resume
from dueline.domain.endings import cancel, delete
from dueline.domain.errors import Conflict
from dueline.domain.job import Job
from dueline.domain.planning import MisfirePolicy
from dueline.domain.schedule import At, Every
from dueline.domain.states import (
    JOB_MOVES,
    RUN_MOVES,
    EndReason,
    HeldReason,
    JobState,
    RunKind,
    RunState,
)
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
    with_misfire,
)

AHEAD_MS = NOW_MS + 700
FIRE_ONCE, FIRE_ALL, SKIP = MisfirePolicy.FIRE_ONCE, MisfirePolicy.FIRE_ALL, MisfirePolicy.SKIP


def paused_job(policy: MisfirePolicy = FIRE_ONCE, *, next_ms: int | None = NOW_MS + MINUTE_MS, **misfire: Any) -> Job:
    return a_job(state=JobState.PAUSED, next_ms=next_ms, pause_note="why", definition=with_misfire(policy, **misfire))


def test_pausing_keeps_the_plan_where_it_is_and_the_note() -> None:
    for next_ms in (NOW_MS - HOUR_MS, NOW_MS, NOW_MS + MINUTE_MS):
        change = pause(in_hand(a_job(next_ms=next_ms)), note="maintenance")
        assert (change.state, change.position.next_ms, change.pause_note) == (JobState.PAUSED, next_ms, "maintenance")
        assert change.definition == a_definition()


def test_what_waits_is_held_whatever_it_waits_for() -> None:
    waiting = [
        a_run(NOW_MS - HOUR_MS, RunState.RETRYING, begun=True, due_ms=NOW_MS + HOUR_MS),
        a_run(NOW_MS - 5_000),
        a_run(NOW_MS),
        a_run(NOW_MS - 1, kind=RunKind.MANUAL),
        a_run(NOW_MS + HOUR_MS, RunState.SCHEDULED, kind=RunKind.MANUAL),
    ]
    change = pause(in_hand(a_job(), *waiting), note=None)
    assert set(change.hold) == set(ids(*waiting))
    assert (change.unplan, change.free, change.cancel) == ((), (), ())


@pytest.mark.parametrize("state", [RunState.READY, RunState.RUNNING, RunState.HELD])
def test_a_run_planned_ahead_is_taken_back_also_from_a_worker(state: RunState) -> None:
    planned = a_run(AHEAD_MS, state)
    change = pause(in_hand(a_job(next_ms=AHEAD_MS + MINUTE_MS), planned), note=None)
    assert (change.unplan, change.hold, change.position.next_ms) == (ids(planned), (), AHEAD_MS)


def test_a_one_time_job_can_be_paused_in_its_last_second() -> None:
    job = a_job(state=JobState.FINISHED, next_ms=None, definition=a_definition(At(AHEAD_MS)))
    change = pause(in_hand(job, a_run(AHEAD_MS)), note=None)
    assert (change.state, change.position.next_ms) == (JobState.PAUSED, AHEAD_MS)


def test_pausing_again_changes_the_note_alone() -> None:
    hand = in_hand(paused_job(), paused_run(NOW_MS - MINUTE_MS))
    change = pause(hand, note="longer")
    assert (change.state, change.position.next_ms, change.pause_note) == (JobState.PAUSED, hand.job.next_ms, "longer")
    assert (change.unplan, change.hold, change.free, change.cancel) == ((), (), (), ())


@pytest.mark.parametrize("state", [JobState.FINISHED, JobState.CANCELLED])
def test_what_has_ended_can_be_neither_paused_nor_resumed(state: JobState) -> None:
    hand = in_hand(a_job(state=state, next_ms=None))
    with pytest.raises(Conflict, match=f"a {state} job"):
        pause(hand, note=None)
    with pytest.raises(Conflict, match=f"a {state} job"):
        resume(hand)


def test_resuming_frees_what_was_held_and_forgets_the_note() -> None:
    held = [
        paused_run(NOW_MS - 3 * HOUR_MS, begun=True, due_ms=NOW_MS - HOUR_MS),
        paused_run(NOW_MS - 2 * HOUR_MS, kind=RunKind.MANUAL),
        paused_run(NOW_MS - GRACE_MS),
    ]
    change = resume(in_hand(paused_job(), *held))
    assert (change.state, change.position.next_ms, change.pause_note) == (JobState.ACTIVE, NOW_MS + MINUTE_MS, None)
    assert (set(change.free), change.cancel) == (set(ids(*held)), ())


def test_resuming_leaves_runs_that_wait_for_something_else() -> None:
    others = [a_run(NOW_MS - HOUR_MS, RunState.HELD, reason=HeldReason.OVERLAP), a_run(NOW_MS, kind=RunKind.MANUAL)]
    change = resume(in_hand(paused_job(SKIP), *others))
    assert (change.free, change.cancel, change.hold, change.unplan) == ((), (), (), ())


def test_resuming_again_changes_nothing() -> None:
    job = a_job(next_ms=NOW_MS + 5)
    change = resume(in_hand(job, a_run(NOW_MS)))
    assert change == JobChange(state=JobState.ACTIVE, definition=job.definition, position=job.position)


def decided(
    policy: MisfirePolicy, *ago_ms: int, next_ms: int | None = NOW_MS + MINUTE_MS, **misfire: int
) -> tuple[list[int], dict[int, str]]:
    """How long ago the freed runs were scheduled, and why the others ended."""
    runs = [paused_run(NOW_MS - ago) for ago in ago_ms]
    change = resume(in_hand(paused_job(policy, next_ms=next_ms, **misfire), *runs))
    ago_of = {run.id: NOW_MS - run.scheduled_ms for run in runs}
    return sorted(ago_of[run_id] for run_id in change.free), {ago_of[run_id]: why for run_id, why in change.cancel}


def test_up_to_the_grace_a_held_run_is_late_and_not_missed() -> None:
    assert decided(SKIP, GRACE_MS) == ([GRACE_MS], {})
    assert decided(SKIP, GRACE_MS + 1) == ([], {GRACE_MS + 1: EndReason.MISFIRE})


def test_fire_once_frees_the_latest_and_the_others_are_coalesced_into_it() -> None:
    free, cancelled = decided(FIRE_ONCE, 30 * MINUTE_MS, 20 * MINUTE_MS, 10 * MINUTE_MS)
    assert free == [10 * MINUTE_MS]
    assert cancelled == {30 * MINUTE_MS: EndReason.COALESCED, 20 * MINUTE_MS: EndReason.COALESCED}


def test_fire_once_leaves_it_to_a_later_occurrence_that_was_missed_too() -> None:
    next_ms = NOW_MS - 5 * MINUTE_MS
    assert decided(FIRE_ONCE, 10 * MINUTE_MS, next_ms=next_ms) == ([], {10 * MINUTE_MS: EndReason.COALESCED})
    # One that is merely late stands for itself.
    assert decided(FIRE_ONCE, 10 * MINUTE_MS, next_ms=NOW_MS - GRACE_MS) == ([10 * MINUTE_MS], {})
    assert decided(FIRE_ONCE, 10 * MINUTE_MS, next_ms=None) == ([10 * MINUTE_MS], {})


def test_what_lies_outside_the_window_is_not_called_coalesced_when_nothing_stands_for_it() -> None:
    assert decided(FIRE_ONCE, HOUR_MS) == ([HOUR_MS], {})
    assert decided(FIRE_ONCE, HOUR_MS + 1) == ([], {HOUR_MS + 1: EndReason.MISFIRE})
    # With a later one inside the window it is.
    assert decided(FIRE_ONCE, 2 * HOUR_MS, HOUR_MS) == ([HOUR_MS], {2 * HOUR_MS: EndReason.COALESCED})
    # Also when that one is still to be fired, the first undecided being as old as the window is long.
    assert decided(FIRE_ONCE, 3 * HOUR_MS, next_ms=NOW_MS - 2 * HOUR_MS) == ([], {3 * HOUR_MS: EndReason.COALESCED})


def test_a_missed_occurrence_outside_the_window_stands_for_nothing() -> None:
    daily = Every(24 * HOUR_MS, (NOW_MS - 2 * HOUR_MS) % (24 * HOUR_MS))
    job = a_job(state=JobState.PAUSED, next_ms=NOW_MS - 2 * HOUR_MS, definition=with_misfire(FIRE_ONCE, daily))
    held = paused_run(NOW_MS - 26 * HOUR_MS)
    assert resume(in_hand(job, held)).cancel == ((held.id, EndReason.MISFIRE),)


def test_fire_all_frees_the_latest_up_to_the_cap_within_the_window() -> None:
    ago_ms = [minutes * MINUTE_MS for minutes in (61, 60, 40, 20, 10)]
    assert decided(FIRE_ALL, *ago_ms) == (sorted(ago_ms[1:]), {ago_ms[0]: EndReason.MISFIRE})
    free, cancelled = decided(FIRE_ALL, *ago_ms, cap=2)
    assert free == sorted(ago_ms[3:])
    assert cancelled == dict.fromkeys(ago_ms[:3], EndReason.MISFIRE)


def test_skip_frees_nothing_that_was_missed() -> None:
    assert decided(SKIP, 20 * MINUTE_MS, MINUTE_MS, 1_000) == (
        [1_000],
        {20 * MINUTE_MS: EndReason.MISFIRE, MINUTE_MS: EndReason.MISFIRE},
    )


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_a_one_time_job_runs_however_late_it_is_resumed(policy: MisfirePolicy) -> None:
    at_ms = NOW_MS - 100 * 24 * HOUR_MS
    job = a_job(state=JobState.PAUSED, next_ms=None, definition=with_misfire(policy, At(at_ms)))
    held = paused_run(at_ms)
    change = resume(in_hand(job, held))
    assert (change.free, change.cancel) == (ids(held), ())


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_retries_and_asked_for_runs_are_no_missed_occurrences(policy: MisfirePolicy) -> None:
    held = [
        paused_run(NOW_MS - 5 * HOUR_MS, begun=True),
        *(
            paused_run(NOW_MS - 4 * HOUR_MS, kind=kind, tail=kind.encode().ljust(10))
            for kind in (RunKind.MANUAL, RunKind.BACKFILL)
        ),
    ]
    change = resume(in_hand(paused_job(policy), *held))
    assert (set(change.free), change.cancel) == (set(ids(*held)), ())


@st.composite
def runs(draw: st.DrawFn) -> LiveRun:
    """An unstarted run as a store may show it."""
    state = draw(
        st.sampled_from([RunState.READY, RunState.HELD, RunState.RETRYING, RunState.RUNNING, RunState.SCHEDULED])
    )
    ago_ms = draw(st.sampled_from([-1_000, -1, 0, 1, GRACE_MS, GRACE_MS + 1]) | st.integers(-1_000, 3 * HOUR_MS))
    kind = RunKind.MANUAL if state is RunState.SCHEDULED else draw(st.sampled_from([RunKind.SCHEDULED, RunKind.MANUAL]))
    fields = {"kind": kind, "tail": draw(st.binary(min_size=10, max_size=10)), "begun": False, "reason": None}
    if state is RunState.RETRYING:
        ago_ms, fields["begun"] = max(ago_ms, 0), True
    elif state is RunState.RUNNING:
        # Claimed ahead: the first time, or again, before a retry is due.
        fields["begun"] = ago_ms >= 0
        fields["due_ms"] = max(NOW_MS - ago_ms, NOW_MS + 300)
    elif state is RunState.HELD:
        fields["reason"] = draw(st.sampled_from(HeldReason))
    return a_run(NOW_MS - ago_ms, state, **fields)


@st.composite
def hands(draw: st.DrawFn) -> JobInHand:
    state = draw(st.sampled_from([JobState.ACTIVE, JobState.PAUSED]))
    next_ms = NOW_MS - draw(st.sampled_from([-MINUTE_MS, -1, 0, 1, GRACE_MS + 1, 2 * HOUR_MS]))
    misfire = {"window_ms": draw(st.integers(0, 3 * HOUR_MS)), "cap": draw(st.integers(1, 4))}
    definition = with_misfire(draw(st.sampled_from(MisfirePolicy)), EVERY_MINUTE, **misfire)
    job = a_job(state=state, next_ms=next_ms, definition=definition)
    return in_hand(job, *draw(st.lists(runs(), max_size=8, unique_by=lambda run: run.id)))


def changes_of(hand: JobInHand) -> list[JobChange]:
    definitions = [a_definition(None), a_definition(Every(HOUR_MS, 0)), hand.job.definition]
    return [
        pause(hand, note=None),
        resume(hand),
        cancel(hand, note=None),
        delete(hand),
        *(edit(hand, definition) for definition in definitions),
    ]


@given(hands())
def test_every_change_names_a_run_once_and_by_a_move_that_its_state_allows(hand: JobInHand) -> None:
    states = {run.id: run.state for run in hand.runs}
    for change in changes_of(hand):
        moves = {"unplan": change.unplan, "hold": change.hold, "free": change.free}
        moves["cancel"] = tuple(run_id for run_id, _ in change.cancel)
        named = [run_id for run_ids in moves.values() for run_id in run_ids]
        assert len(named) == len(set(named))
        for move, run_ids in moves.items():
            assert {states[run_id] for run_id in run_ids} <= RUN_MOVES[move][0]


@given(hands())
def test_no_occurrence_is_lost_or_doubled_by_a_change(hand: JobInHand) -> None:
    assert hand.job.next_ms is not None
    for change in (pause(hand, note=None), edit(hand, hand.job.definition)):
        unplanned = [run.scheduled_ms for run in hand.runs if run.id in change.unplan]
        # What was taken back is planned again, and nothing that stays is.
        assert change.position.next_ms == min([hand.job.next_ms, *unplanned])
        assert all(at_ms > hand.now_ms for at_ms in unplanned)


@given(hands())
def test_a_job_changes_its_state_only_as_the_table_allows(hand: JobInHand) -> None:
    legal = {(source, end) for sources, ends in JOB_MOVES.values() for source in sources for end in ends}
    for change in changes_of(hand):
        assert change.state is hand.job.state or (hand.job.state, change.state) in legal


@given(hands())
def test_resuming_gives_every_held_run_exactly_one_verdict(hand: JobInHand) -> None:
    change = resume(hand)
    paused = {run.id for run in hand.runs if run.state is RunState.HELD and run.reason == HeldReason.PAUSED}
    assert {*change.free, *(run_id for run_id, _ in change.cancel)} == paused
