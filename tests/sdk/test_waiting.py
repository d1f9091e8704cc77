"""Waiting for a run, on a clock that stands still."""

from typing import Any

import msgspec
import pytest

from dueline.sdk.answers import Answer
from dueline.sdk.calls import Call
from dueline.sdk.errors import NotFound, StillRunning, Unreachable
from dueline.sdk.flows import operation_steps
from dueline.sdk.retries import NEVER
from dueline.sdk.waiting import waiting
from dueline.wire.runs import RunView
from tests.sdk.stepping import Calls

LOST = Unreachable("the connection broke")
LOOK = Call(kind=lambda: RunView, method="GET", path="/v1/runs/r")


def seen(state: str, *, finished_at: str | None = None) -> Answer:
    return Answer(200, {}, msgspec.json.encode({"id": "r", "state": state, "finished_at": finished_at}))


READY, RUNNING = seen("ready"), seen("running")
ENDED = seen("failed", finished_at="2026-01-01T00:00:00.000Z")


def wait(calls: Calls, *told: Answer | Unreachable, timeout_s: float | None = None) -> Any:
    steps: Any = operation_steps(waiting(LOOK, "r", calls.terms, timeout_s=timeout_s), calls.terms)
    return calls.take(steps, *told)


def test_it_is_over_when_the_run_has_ended_however_it_did() -> None:
    calls = Calls()
    assert wait(calls, READY, RUNNING, ENDED).state == "failed"
    assert wait(calls, ENDED).finished_at is not None


def test_the_looks_come_less_and_less_often() -> None:
    calls = Calls()
    wait(calls, *[RUNNING] * 20, ENDED)
    assert calls.pauses_s == sorted(calls.pauses_s)
    assert calls.pauses_s[0] < 0.05
    assert 2.5 <= calls.pauses_s[-1] <= 5.0


def test_it_ends_with_its_time_and_says_what_it_saw() -> None:
    calls = Calls()
    with pytest.raises(StillRunning, match=r"r is running after 0\.1 s") as raised:
        wait(calls, READY, RUNNING, RUNNING, RUNNING, timeout_s=0.1)
    assert sum(calls.pauses_s) == pytest.approx(0.1, abs=0.002)
    assert raised.value.run is not None
    assert raised.value.run.state == "running"


def test_a_wait_without_time_looks_once() -> None:
    with pytest.raises(StillRunning):
        wait(Calls(), RUNNING, timeout_s=0)
    assert wait(Calls(), ENDED, timeout_s=0).state == "failed"


def test_a_look_has_no_more_time_than_the_wait_but_a_second_at_least() -> None:
    calls = Calls()
    wait(calls, ENDED, timeout_s=10)
    wait(calls, ENDED, timeout_s=0.1)
    assert calls.left_s == [10.0, 1.0]


def test_a_server_that_is_away_is_waited_for() -> None:
    calls = Calls(NEVER)
    assert wait(calls, RUNNING, LOST, Answer(503, {}, b""), ENDED).state == "failed"
    assert wait(calls, LOST, ENDED, timeout_s=60).state == "failed"


def test_a_server_that_was_never_there_is_told_where_nothing_bounds_the_wait() -> None:
    with pytest.raises(Unreachable):
        wait(Calls(NEVER), LOST)
    with pytest.raises(StillRunning, match="r could not be seen after 0 s"):
        wait(Calls(NEVER), LOST, timeout_s=0)


def test_a_run_that_is_not_there_is_not_waited_for() -> None:
    with pytest.raises(NotFound):
        wait(Calls(), Answer(404, {}, b""))
