"""Occurrences: what became of each due instant of a job, and the ways to change one that is to come."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.ids import run_text
from dueline.domain.instants import format_instant
from dueline.domain.ledger import Occurrence, Verdict, started_ms
from dueline.domain.run import as_seen
from dueline.domain.states import RunState
from dueline.wire.labels import read_instant
from dueline.wire.problems import Problems


class OccurrenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One due instant with its verdict. `run_id`, `state` and `started_at` are those of its run, if it became one."""

    scheduled_at: str
    verdict: Verdict
    reason: str | None
    run_id: str | None
    state: RunState | None
    started_at: str | None
    version: int | None


class OccurrenceInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One coming occurrence, by the instant that the schedule has it at."""

    at: str | UnsetType


class MoveInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One coming occurrence, and the instant that it moves to."""

    at: str | UnsetType
    to: str | UnsetType


def to_instant(text: str | UnsetType, field: str, problems: Problems) -> int:
    """The instant of a field that is required; zero when it is refused."""
    return 0 if text is UNSET else read_instant(text, field, problems) or 0


def occurrence_view(one: Occurrence, *, now_ms: int) -> OccurrenceView:
    run = None if one.run is None else as_seen(one.run, now_ms=now_ms)
    begun_ms = None if run is None or run.state is RunState.SCHEDULED else started_ms(run)
    return OccurrenceView(
        scheduled_at=format_instant(one.scheduled_ms),
        verdict=one.verdict,
        reason=one.reason,
        run_id=None if run is None else run_text(run.id),
        state=None if run is None else run.state,
        started_at=None if begun_ms is None else format_instant(begun_ms),
        version=one.version,
    )
