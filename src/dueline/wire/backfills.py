"""Backfills: runs for occurrences of the past that somebody asks for."""

from __future__ import annotations

import msgspec
from msgspec import UnsetType

from dueline.domain import limits
from dueline.domain.overlap import Overlap
from dueline.wire.labels import check_count, check_rate
from dueline.wire.occurrences import to_instant
from dueline.wire.problems import Problems


class BackfillInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The occurrences from one instant to before another, at most `cap`, so many a second. `dry_run` only tells them."""

    from_: str | UnsetType = msgspec.field(name="from")
    to: str | UnsetType
    cap: int = limits.BACKFILL_RUNS_DEFAULT
    rate: float = 1.0
    overlap: Overlap = Overlap.QUEUE_ALL
    dry_run: bool = False


class BackfillItem(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `new` is false for one that was asked for before: it is not written again."""

    run_id: str
    scheduled_at: str
    due_at: str
    new: bool


class BackfillView(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool
    count: int
    new: int
    items: list[BackfillItem]


def check_backfill(asked: BackfillInput, problems: Problems) -> tuple[int, int]:
    """The instants of a backfill's range, or Invalid with all that is wrong."""
    from_ms, to_ms = to_instant(asked.from_, "from", problems), to_instant(asked.to, "to", problems)
    check_count(asked.cap, "cap", problems, least=1, most=limits.BACKFILL_RUNS_MAX)
    check_rate(asked.rate, "rate", problems, most=limits.BACKFILL_RATE_MAX)
    problems.raise_any()
    return from_ms, to_ms
