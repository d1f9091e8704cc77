"""The one table of legal moves."""

import pytest

from dueline.domain.states import (
    CANCELLABLE,
    JOB_MOVES,
    LIVE,
    RUN_MOVES,
    TERMINAL,
    WAITING,
    JobState,
    RunState,
)

CREATING = [move for move, (sources, _) in RUN_MOVES.items() if not sources]


def reachable(start: frozenset[RunState]) -> frozenset[RunState]:
    """Every state that some chain of moves leads to."""
    reached = start
    while True:
        further = reached.union(*(ends for sources, ends in RUN_MOVES.values() if sources & reached))
        if further == reached:
            return reached
        reached = further


def test_moves_are_made_between_states_that_exist() -> None:
    for sources, ends in RUN_MOVES.values():
        assert sources | ends <= frozenset(RunState)
        assert sources or ends
    for job_sources, job_ends in JOB_MOVES.values():
        assert job_sources | job_ends <= frozenset(JobState)


def test_a_state_is_live_or_terminal() -> None:
    assert frozenset(RunState) == LIVE | TERMINAL
    assert not LIVE & TERMINAL


@pytest.mark.parametrize("move", RUN_MOVES)
def test_nothing_leaves_a_terminal_state(move: str) -> None:
    assert not RUN_MOVES[move][0] & TERMINAL


def test_runs_are_created_live_and_by_nothing_but_firing_and_asking() -> None:
    assert CREATING == ["fire", "enqueue"]
    for move in CREATING:
        assert RUN_MOVES[move][1] <= LIVE


def test_every_live_state_can_be_reached_from_the_creation() -> None:
    created = frozenset[RunState]().union(*(RUN_MOVES[move][1] for move in CREATING))
    assert reachable(created) >= LIVE


@pytest.mark.parametrize("state", sorted(LIVE))
def test_from_every_live_state_success_failure_and_cancellation_can_be_reached(state: RunState) -> None:
    assert reachable(frozenset({state})) >= {RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED}


def test_what_can_be_cancelled_is_what_lives_and_does_not_run() -> None:
    assert RUN_MOVES["cancel"] == (LIVE, frozenset({RunState.CANCELLED})), (
        "a claim that has not started can be taken back"
    )
    assert LIVE - {RunState.RUNNING} == CANCELLABLE


def test_only_what_does_not_run_expires() -> None:
    assert RUN_MOVES["expire"] == (CANCELLABLE, frozenset({RunState.EXPIRED}))


def test_a_run_that_was_put_off_waits_to_be_promoted() -> None:
    assert RUN_MOVES["postpone"][1] <= RUN_MOVES["promote"][0]


def test_waiting_runs_are_promoted_and_cannot_be_claimed() -> None:
    assert RUN_MOVES["promote"] == (WAITING, frozenset({RunState.READY}))
    assert not RUN_MOVES["claim"][0] & WAITING


def test_only_a_claim_makes_a_run_running() -> None:
    into = {move for move, (sources, ends) in RUN_MOVES.items() if RunState.RUNNING in ends - sources}
    assert into == {"claim"}


@pytest.mark.parametrize("move", ["confirm", "release", "finish", "retry", "postpone", "reclaim"])
def test_moves_of_an_owner_leave_only_running(move: str) -> None:
    assert RUN_MOVES[move][0] == frozenset({RunState.RUNNING})


def test_success_and_failure_need_a_run_that_ran() -> None:
    for sources, ends in RUN_MOVES.values():
        if ends & {RunState.SUCCEEDED, RunState.FAILED}:
            assert sources == frozenset({RunState.RUNNING})


def test_job_moves_have_their_opposites() -> None:
    assert JOB_MOVES["pause"] == JOB_MOVES["resume"][::-1]
    # A paused job may be found exhausted when it is resumed.
    assert JOB_MOVES["exhaust"][0] == JOB_MOVES["revive"][1] | {JobState.PAUSED}
    assert JOB_MOVES["exhaust"][1] == JOB_MOVES["revive"][0]
