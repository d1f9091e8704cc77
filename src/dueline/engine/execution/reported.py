"""What workers without a connection to the store say of an attempt, and the outcome that it means."""

from __future__ import annotations

import msgspec

from dueline.domain.ids import RunId
from dueline.domain.run import Outcome, OutcomeKind
from dueline.domain.statuses import SUCCESSES, holds
from dueline.engine.execution.calls import PreparedCall
from dueline.engine.execution.preparing import Prepared


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an attempt. Without a kind, the status of the answer says it."""

    run_id: RunId
    token: int
    kind: OutcomeKind | None
    status: int | None = None
    error: str | None = None
    result: str | None = None
    retry_after_ms: int | None = None
    headers: dict[str, str] = {}
    started_ms: int | None = None
    leaving: bool = False
    """Whether the worker broke it off because it leaves."""


def read_report(one: Reported, work: Prepared) -> Outcome:
    """The outcome of an attempt: as the worker says, or by the status of the answer that it got."""
    kind = one.kind
    if kind is None:
        expected = work.expected if isinstance(work, PreparedCall) else SUCCESSES
        kind = OutcomeKind.SUCCEEDED if holds(expected, one.status or 0) else OutcomeKind.REFUSED
    return Outcome(
        kind=kind,
        status=one.status,
        error=one.error if one.error or kind is OutcomeKind.SUCCEEDED else _said(one),
        result=one.result,
        retry_after_ms=one.retry_after_ms,
        headers=one.headers,
    )


def _said(one: Reported) -> str:
    return "the worker did not say why" if one.status is None else f"the target answered {one.status}"
