"""Queues as they stand."""

from __future__ import annotations

import msgspec


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue with the numbers of its live runs, and what there is to serve it. `oldest_due_at` is when the oldest of the ready ones
    became due, `reasons` why runs are held or put off, and how many, `rate` how many runs a second were taken lately; `busy_share` is
    `busy` of `slots`."""

    name: str
    paused: bool
    note: str | None
    ready: int
    running: int
    held: int
    waiting: int
    reasons: dict[str, int]
    oldest_due_at: str | None
    oldest_age_s: float | None
    rate: float
    workers: int
    slots: int
    busy: int
    busy_share: float | None
