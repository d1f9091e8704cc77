"""The verdict of an occurrence that became a run, at every boundary."""

from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.domain.ledger import SkipReason, Verdict, judge, started_ms
from dueline.domain.run import Attempt, Outcome, OutcomeKind, Run
from dueline.domain.states import LIVE, EndReason, RunKind, RunState

AT_MS = 1_767_225_600_000
FAR_MS = AT_MS + 86_400_000
LATE_MS = limits.LATE_MS
Told = tuple[Verdict, str | None]


def a_run(state: RunState = RunState.SUCCEEDED, **fields: Any) -> Run:
    defaults: dict[str, Any] = {
        "id": RunId(bytes(16)),
        "job_id": JobId(bytes(16)),
        "version": 3,
        "tenant": "default",
        "kind": RunKind.SCHEDULED,
        "queue": "default",
        "priority": 5,
        "tags": (),
        "scheduled_ms": AT_MS,
        "due_ms": AT_MS,
        "created_ms": AT_MS,
        "claimed_ms": None,
        "started_ms": None,
        "finished_ms": None,
        "attempt": 0,
        "lost": 0,
        "worker": None,
        "reason": None,
        "parent_id": None,
        "attempts": (),
    }
    return Run(state=state, **(defaults | fields))


def an_attempt(begun_ms: int | None, *, claimed_ms: int = AT_MS) -> Attempt:
    return Attempt(
        attempt=1,
        token=1,
        worker="w",
        claimed_ms=claimed_ms,
        started_ms=begun_ms,
        finished_ms=max(begun_ms or 0, claimed_ms),
        outcome=Outcome(kind=OutcomeKind.SUCCEEDED),
    )


def told(run: Run, *, jitter_ms: int = 0, now_ms: int = FAR_MS) -> Told:
    found = judge(run, jitter_ms=jitter_ms, now_ms=now_ms)
    assert (found.scheduled_ms, found.version, found.run) == (run.scheduled_ms, run.version, run)
    return found.verdict, found.reason


@pytest.mark.parametrize("jitter_ms", [0, 60_000])
@pytest.mark.parametrize(
    ("late_ms", "verdict"), [(0, Verdict.FIRED), (LATE_MS, Verdict.FIRED), (LATE_MS + 1, Verdict.LATE)]
)
def test_late_is_a_millisecond_past_the_promise(late_ms: int, verdict: Verdict, jitter_ms: int) -> None:
    run = a_run(attempts=(an_attempt(AT_MS + jitter_ms + late_ms),))
    assert told(run, jitter_ms=jitter_ms) == (verdict, None)


def test_the_first_attempt_counts() -> None:
    run = a_run(attempts=(an_attempt(AT_MS), an_attempt(AT_MS + LATE_MS + 1)), started_ms=AT_MS + LATE_MS + 1)
    assert told(run) == (Verdict.FIRED, None)


def test_an_attempt_that_was_lost_began_when_it_was_claimed() -> None:
    run = a_run(RunState.FAILED, attempts=(an_attempt(None, claimed_ms=AT_MS + 7),))
    assert started_ms(run) == AT_MS + 7
    assert told(run) == (Verdict.FIRED, None)


def test_a_run_under_way_began_when_it_was_due_though_it_was_claimed_before() -> None:
    run = a_run(RunState.RUNNING, claimed_ms=AT_MS - 900)
    assert started_ms(run) == AT_MS
    assert told(run, now_ms=AT_MS - 1) == (Verdict.EXPECTED, None)
    assert told(run, now_ms=AT_MS) == (Verdict.FIRED, None)
    assert started_ms(a_run(RunState.RUNNING, claimed_ms=AT_MS + 9)) == AT_MS + 9


def test_a_run_in_a_workers_hands_that_is_not_due_waits() -> None:
    run = a_run(RunState.RUNNING, claimed_ms=AT_MS + 4_200, due_ms=AT_MS + 5_000)
    assert told(run, jitter_ms=10_000, now_ms=AT_MS + 4_999) == (Verdict.WAITING, "scheduled")
    assert told(run, jitter_ms=10_000, now_ms=AT_MS + 5_000) == (Verdict.FIRED, None)


def test_a_run_without_a_record_of_its_attempts_has_its_own_start() -> None:
    assert started_ms(a_run(started_ms=AT_MS + 3)) == AT_MS + 3
    assert started_ms(a_run(RunState.READY)) is None


@pytest.mark.parametrize("state", sorted(LIVE))
def test_before_its_time_it_is_expected_whatever_its_state(state: RunState) -> None:
    assert told(a_run(state), now_ms=AT_MS - 1) == (Verdict.EXPECTED, None)


@pytest.mark.parametrize(
    ("state", "fields", "reason"),
    [
        (RunState.READY, {}, "ready"),
        (RunState.READY, {"due_ms": AT_MS + 1}, "scheduled"),
        (RunState.SCHEDULED, {"due_ms": AT_MS + 1}, "scheduled"),
        (RunState.HELD, {"reason": "paused"}, "paused"),
        (RunState.HELD, {"reason": "overlap"}, "overlap"),
        (RunState.HELD, {"reason": "overlap", "due_ms": AT_MS + 1}, "overlap"),
    ],
)
def test_from_its_time_on_it_waits_and_says_for_what(state: RunState, fields: dict[str, Any], reason: str) -> None:
    assert told(a_run(state, **fields), now_ms=AT_MS) == (Verdict.WAITING, reason)


def test_a_retry_has_fired_already() -> None:
    run = a_run(RunState.RETRYING, attempts=(an_attempt(AT_MS),), due_ms=FAR_MS + 1)
    assert told(run) == (Verdict.FIRED, None)


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (EndReason.OVERLAP, (Verdict.SKIPPED, SkipReason.OVERLAP)),
        (EndReason.SUPERSEDED, (Verdict.SKIPPED, SkipReason.OVERLAP)),
        (EndReason.MISFIRE, (Verdict.SKIPPED, SkipReason.MISFIRE)),
        (EndReason.COALESCED, (Verdict.COALESCED, None)),
        (EndReason.JOB_DELETED, (Verdict.SKIPPED, SkipReason.JOB_DELETED)),
        (EndReason.RECOVERY, (Verdict.SKIPPED, SkipReason.RECOVERY)),
        (EndReason.REQUESTED, (Verdict.SKIPPED, SkipReason.REQUESTED)),
        ("something new", (Verdict.SKIPPED, "something new")),
    ],
)
def test_what_ended_before_it_started_says_why(reason: str, expected: Told) -> None:
    assert told(a_run(RunState.CANCELLED, reason=reason)) == expected


@pytest.mark.parametrize("reason", list(EndReason))
def test_what_started_has_fired_however_it_ended(reason: EndReason) -> None:
    run = a_run(RunState.CANCELLED, reason=reason, attempts=(an_attempt(AT_MS),))
    assert told(run) == (Verdict.FIRED, None)
