"""Audits: what a job's schedule asked for, against what became of it."""

from __future__ import annotations

import msgspec


class LateView(msgspec.Struct, frozen=True):
    scheduled_at: str
    started_at: str


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """One job's account. Each of the `expected` has one verdict, or is missed; the first of each kind of problem are named.

    `to` is earlier than asked where there were more occurrences than are looked at in one go.
    """

    job_id: str
    name: str
    from_: str = msgspec.field(name="from")
    to: str
    expected: int
    verdicts: dict[str, int]
    reasons: dict[str, int]
    missed: int
    doubled: int
    late: int
    missed_at: list[str]
    doubled_at: list[str]
    late_starts: list[LateView]
