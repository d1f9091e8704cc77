"""The rank of a ready run: runs are claimed in rank order, lowest first."""

from __future__ import annotations

from dueline.domain.job import DEFAULT_PRIORITY

HEAD_START_MS = 60_000
"""What one step of priority is worth: a run overtakes those that became due up to a minute earlier, so nothing starves."""
MISSED_PENALTY_MS = 600_000
"""Missed occurrences stand behind on-time ones that become due in the next ten minutes."""


def rank(*, due_ms: int, priority: int, missed: bool = False) -> int:
    """One sortable number: due time, less a head start for priority, plus a penalty for what was missed."""
    return due_ms - (priority - DEFAULT_PRIORITY) * HEAD_START_MS + (MISSED_PENALTY_MS if missed else 0)
