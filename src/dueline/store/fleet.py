"""The store, as far as processes are concerned: who they are, what they can carry out, which shards they own. `protocol` tells what holds
of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

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


class Pulse(msgspec.Struct, frozen=True):
    """As much of a process as others look at all the time; see `Node`."""

    boot_id: BootId
    role: Role
    host: str
    pid: int
    beat: int
    expired: bool
    draining: bool


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


NO_RATES: Mapping[str, float] = {}


class MemberStore(Protocol):
    async def register(self, node: NewNode, *, lease_s: float) -> None: ...

    async def beat(
        self, boot_id: BootId, *, lease_s: float, busy: int = 0, rates: Mapping[str, float] = NO_RATES
    ) -> Beat:
        """Renew a lease, on a connection of its own. Raises LeaseLost when the process was declared dead.

        `busy` is how many runs it executes, `rates` how many it took lately from each queue, per second.
        """

    async def ask_drain(self, boot_id: BootId) -> bool:
        """Ask a process to drain; it hears so with its next beat, for which all are woken. Answers whether there is such a process."""

    async def drain(self, boot_id: BootId) -> None:
        """Say that a process is about to leave: it gets no more shards."""

    async def leave(self, boot_id: BootId) -> None:
        """Remove a process that stopped in order."""

    async def bury(self, boot_id: BootId) -> bool:
        """Declare a process dead, if its lease has expired by the store's clock."""

    async def nodes(self) -> list[Node]: ...

    async def pulses(self) -> list[Pulse]:
        """The same processes, for those who only want to know who lives."""


class LeaseStore(Protocol):
    async def shards(self) -> list[ShardLease]: ...

    async def take_shards(self, owner: BootId, seen: Mapping[int, int]) -> dict[int, int]:
        """Take shards that still have the epoch that was seen and no registered owner; answers their new epochs."""

    async def drop_shards(self, owner: BootId, epochs: Mapping[int, int]) -> None:
        """Hand shards over: whoever they belong to next may take them at once."""


class JobTypeStore(Protocol):
    async def publish_job_types(self, types: Sequence[JobType], *, keep_ms: int) -> None:
        """Write what a worker can carry out, each as seen now; forget those that nobody said to have for `keep_ms`."""

    async def job_types(self) -> list[JobType]:
        """All that are known, by name."""
