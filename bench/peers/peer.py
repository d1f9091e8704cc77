"""A peer: a rival in its best documented configuration, driven as a contender."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import asyncpg
import msgspec

from bench.measured import Absent, Measured
from bench.peers.environments import Environment
from tests.support.postgres import PostgresServer

# What every job of a task gets; the handler decodes it.
_ARGUMENTS = {"customer": "c-123", "cents": 500}


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer is to do in one round."""

    server: PostgresServer | None
    """Nothing for those that need none."""
    count: int
    arguments: dict[str, Any] | None = None
    other_jobs: int = 0


class Peer(ABC):
    """What a peer does not offer, and whatever stops it when it runs, is told as `Absent`."""

    def __init__(
        self,
        name: str,
        environment: Environment,
        *,
        program: str,
        processes: int,
        drains_at_most: int | None = None,
        **options: Any,
    ) -> None:
        """The options are what its program is told beside the work. A slow peer drains fewer jobs than it is asked to."""
        self.name = name
        self.processes = processes
        self.drains_at_most = drains_at_most
        self.options: dict[str, Any] = {"home": str(environment.home), **options}
        self.failed: dict[str, str] = {}
        """What it was to do and could not, and why."""
        self._environment = environment
        self._program = program

    @cached_property
    def absent(self) -> str | None:
        """Why it cannot take part, if so. Its environment is made when this is first asked."""
        try:
            self._environment.prepare()
        except Absent as absent:
            return str(absent)
        return None

    @property
    def was_asked(self) -> bool:
        """Whether anybody wanted to know if it is there."""
        return "absent" in self.__dict__

    @cached_property
    def versions(self) -> dict[str, str]:
        """Of the peer and of what it stands on."""
        return {} if self.absent else self._environment.versions()

    async def drain_noop(self, server: PostgresServer | None, count: int) -> Measured:
        """Jobs without arguments that do nothing, all of them there before the clock runs."""
        with self._taking_part("drain_noop") as command:
            return await self._drain(command, Work(server=server, count=self._bounded(count)))

    async def drain_task(self, server: PostgresServer | None, count: int) -> Measured:
        """The same with arguments, which are decoded."""
        with self._taking_part("drain_task") as command:
            work = Work(server=server, count=self._bounded(count), arguments=_ARGUMENTS)
            return await self._drain(command, work)

    async def burst(self, server: PostgresServer | None, count: int, other_jobs: int = 0) -> list[float]:
        """Jobs that are all due at one instant, beside others that are due much later: how late each started, in milliseconds."""
        with self._taking_part("burst") as command:
            return await self._burst(command, Work(server=server, count=count, other_jobs=other_jobs))

    def _bounded(self, count: int) -> int:
        return count if self.drains_at_most is None else min(count, self.drains_at_most)

    @abstractmethod
    async def _drain(self, command: list[str], work: Work) -> Measured: ...

    @abstractmethod
    async def _burst(self, command: list[str], work: Work) -> list[float]: ...

    @contextmanager
    def _taking_part(self, what: str) -> Iterator[list[str]]:
        """What runs its program. Whoever fails in something is absent from it from then on."""
        reason = self.absent or self.failed.get(what)
        if reason is not None:
            raise Absent(reason)
        try:
            yield self._environment.command(self._program)
        except Absent as absent:
            self.failed[what] = str(absent)
            raise
        except (OSError, TimeoutError, asyncpg.PostgresError) as error:
            self.failed[what] = f"it fails: {error!r}"
            raise Absent(self.failed[what]) from error
