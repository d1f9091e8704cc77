"""A run as people see it."""

from __future__ import annotations

import msgspec
import pytest

from dueline.domain.ids import new_run_id
from dueline.domain.run import Run, as_seen
from dueline.domain.states import RunKind, RunState

NOW_MS = 1_767_225_600_000


def a_run(state: RunState, due_ms: int) -> Run:
    return Run(
        id=new_run_id(due_ms, bytes(10)),
        job_id=None,
        version=None,
        tenant="default",
        kind=RunKind.ADHOC,
        state=state,
        queue="default",
        priority=5,
        tags=(),
        scheduled_ms=due_ms,
        due_ms=due_ms,
        created_ms=due_ms,
        claimed_ms=None,
        started_ms=None,
        finished_ms=None,
        attempt=0,
        lost=0,
        worker=None,
        reason=None,
        parent_id=None,
        attempts=(),
    )


@pytest.mark.parametrize("state", [RunState.READY, RunState.RUNNING])
def test_a_run_is_scheduled_until_its_very_millisecond(state: RunState) -> None:
    early = a_run(state, NOW_MS + 1)
    assert as_seen(early, now_ms=NOW_MS) == msgspec.structs.replace(early, state=RunState.SCHEDULED)
    due = a_run(state, NOW_MS)
    assert as_seen(due, now_ms=NOW_MS) == due


@pytest.mark.parametrize("state", sorted(set(RunState) - {RunState.READY, RunState.RUNNING}))
def test_other_states_are_shown_as_they_are(state: RunState) -> None:
    assert as_seen(a_run(state, NOW_MS + 1), now_ms=NOW_MS).state is state
