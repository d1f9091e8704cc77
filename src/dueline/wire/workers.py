"""Processes as they stand."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class WorkerState(StrEnum):
    ALIVE = "alive"
    LATE = "late"
    """It missed some heartbeats; it may be back before it expires."""
    DRAINING = "draining"
    """It is about to end."""
    EXPIRED = "expired"
    """It has not been heard of for too long."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """A process that executes runs, fires schedules, or both. `busy` is how many runs it held at its last heartbeat."""

    id: str
    role: str
    host: str
    pid: int
    version: str
    queues: tuple[str, ...]
    labels: tuple[str, ...]
    tasks: tuple[str, ...]
    slots: int
    busy: int
    state: WorkerState
    started_at: str
    beat_at: str
