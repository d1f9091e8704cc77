"""Queues as they stand."""

from __future__ import annotations

import msgspec


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue with the numbers of its live runs. `oldest_due_at` is when the oldest of the ready ones became due."""

    name: str
    paused: bool
    note: str | None
    ready: int
    running: int
    held: int
    waiting: int
    oldest_due_at: str | None
