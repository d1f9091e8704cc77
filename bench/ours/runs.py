"""Runs to be drained: without a job, no two the same."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bench.lines import entropy
from dueline.domain.ids import new_run_id
from dueline.domain.job import (
    DEFAULT_PRIORITY,
    DEFAULT_QUEUE,
    DEFAULT_TENANT,
    Execution,
    HttpTarget,
    Target,
    TaskTarget,
)
from dueline.domain.run import NewRun
from dueline.domain.states import RunKind

TASK = "bench.noop"
MakeRun = Callable[[int, int], NewRun]
"""Gets the time and the number."""


def http_run(url: str) -> MakeRun:
    """A POST with as much in its body as the rows of the floor have."""
    return _maker(lambda number: HttpTarget(url=url, body=http_body(number)))


def http_body(number: int) -> dict[str, object]:
    return _body(number) | {"note": "n" * 150}


def noop_run() -> MakeRun:
    """As little as a run can say, as the jobs of the others that do nothing."""
    return _maker(lambda _: TaskTarget(task=TASK))


def task_run() -> MakeRun:
    return _maker(lambda number: TaskTarget(task=TASK, args=_body(number)))


def _body(number: int) -> dict[str, object]:
    return {"customer": f"c-{number}", "cents": number % 10_000}


def _maker(target: Callable[[int], Target]) -> MakeRun:
    def make(now_ms: int, number: int) -> NewRun:
        execution = Execution(target=target(number))
        return NewRun(
            id=new_run_id(now_ms, entropy()),
            job_id=None,
            version=None,
            tenant=DEFAULT_TENANT,
            kind=RunKind.ADHOC,
            queue=DEFAULT_QUEUE,
            priority=DEFAULT_PRIORITY,
            region="",
            exclusive=False,
            timeout_ms=execution.timeout_ms,
            scheduled_ms=now_ms,
            due_ms=now_ms,
            spec=msgspec.json.encode(execution).decode(),
            lane=execution.lane,
        )

    return make
