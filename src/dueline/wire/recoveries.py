"""Recoveries: what an outage left overdue, and what becomes of it."""

from __future__ import annotations

import msgspec

from dueline.domain import limits
from dueline.domain.planning import MisfirePolicy


class RecoveryInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to recover: by one policy for all, or (null) by each job's own; so many missed runs a second."""

    policy: MisfirePolicy | None = None
    rate: float = limits.RECOVERY_RATE_DEFAULT


class JobRecoveryView(msgspec.Struct, frozen=True, kw_only=True):
    """One job's share: occurrences to run, to coalesce and to skip, and missed runs that wait already. `more`: there are more than
    were counted."""

    job_id: str
    name: str
    policy: MisfirePolicy
    overdue_since: str | None
    run: int
    coalesce: int
    skip: int
    waiting: int
    more: bool


class RecoveryView(msgspec.Struct, frozen=True, kw_only=True):
    """What is overdue, and when the last of it would start. `jobs` are the first of them; `complete`: all was looked at."""

    applied: bool
    at: str
    rate: float
    overdue_jobs: int
    runs: int
    waiting: int
    drained_at: str
    complete: bool
    jobs: list[JobRecoveryView]
