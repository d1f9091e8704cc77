"""A peer: a rival in its best documented configuration, driven as a contender."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import asyncpg

from bench.measured import Absent
from bench.peers.environments import Environment


class Peer:
    """What all have in common; what a peer offers are methods of its class. Whatever stops it when it runs is told as `Absent`."""

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

    def _bounded(self, count: int) -> int:
        return count if self.drains_at_most is None else min(count, self.drains_at_most)

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
