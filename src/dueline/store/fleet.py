"""What stores tell of processes: who they are, what they can carry out, which shards they own."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from dueline.domain.ids import BootId


class Role(StrEnum):
    """What a process does: fire schedules, execute runs, or both."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    ALL = "all"


class NewNode(msgspec.Struct, frozen=True, kw_only=True):
    boot_id: BootId
    role: Role
    host: str
    pid: int
    version: str
    queues: tuple[str, ...] = ()
    """What a worker serves; empty: all."""
    labels: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    """Names of the tasks that a worker can carry out."""
    slots: int = 0


class Node(msgspec.Struct, frozen=True, kw_only=True):
    boot_id: BootId
    role: Role
    host: str
    pid: int
    version: str
    beat: int
    started_ms: int
    expired: bool
    draining: bool
    """It is about to leave, or somebody asked it to."""
    queues: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    slots: int = 0
    busy: int = 0
    rates: dict[str, float] = {}
    """Runs per second that a worker took lately from each queue."""
    beat_ms: int = 0
    """When it last beat, on the store's clock."""

    @property
    def takes_runs(self) -> bool:
        """Whether it is a worker that is there to stay: neither expired nor about to leave."""
        return self.role is not Role.SCHEDULER and not self.expired and not self.draining


class Beat(msgspec.Struct, frozen=True):
    """The answer to a heartbeat: the store's clock, and whether somebody asked the process to drain."""

    now_ms: int
    drain_asked: bool


class JobType(msgspec.Struct, frozen=True, kw_only=True):
    """A task that some worker can carry out, as jobs name it. `parameters` is a JSON Schema of its arguments."""

    name: str
    queue: str
    parameters: str
    description: str | None = None
    seen_ms: int = 0
    """When a worker last said that it has it, on the store's clock."""


class ShardLease(msgspec.Struct, frozen=True):
    shard: int
    epoch: int
    owner: BootId | None
