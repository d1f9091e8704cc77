"""The processes of a scenario, by their roles; each start has a name of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.dueline import DuelineProcess
from tests.support.postgres import free_port

START_S_MAX = 60.0
"""Five processes that start at once on a machine that has other things to do."""


@dataclass(frozen=True)
class Place:
    """Where a process lives, if not here: its own way to the store, what is in its environment, and the command that leads there."""

    db: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    within: Sequence[str] = ()


HERE = Place()


class Fleet:
    def __init__(self, folder: Path, db: str, *, module: str, places: Mapping[str, Place] | None = None) -> None:
        """`places` are those of single processes, by their names."""
        self._folder = folder
        self._module = module
        self.db = db
        self._places = places or {}
        self._port = free_port()
        self._starts: Counter[str] = Counter()
        self.processes: list[DuelineProcess] = []
        self._health: dict[str, str] = {}

    @property
    def url(self) -> str:
        """Where the API is, or will be again."""
        return f"http://127.0.0.1:{self._port}"

    def start(self, *roles: str) -> list[DuelineProcess]:
        """Start one process of each role at once, and answer when all of them run."""
        started = [self.begin(role) for role in roles]
        for process in started:
            process.wait_until_running(within_s=START_S_MAX)
        return started

    def begin(self, role: str) -> DuelineProcess:
        """Start a process, and do not wait for it."""
        self._starts[role] += 1
        name = f"{role}-{self._starts[role]}"
        has_api = role in ("api", "serve")
        port = self._port if has_api else free_port()
        option = "--port" if has_api else "--health-port"
        place = self._places.get(name, HERE)
        process = DuelineProcess(
            self._folder,
            name,
            role,
            option,
            str(port),
            db=place.db or self.db,
            module=self._module,
            environment=place.environment,
            within=place.within,
        )
        self.processes.append(process)
        self._health[name] = f"http://127.0.0.1:{port}"
        return process

    def one(self, role: str) -> DuelineProcess:
        """The oldest that lives."""
        return next(process for process in self.living() if process.name.startswith(f"{role}-"))

    def latest(self, role: str) -> DuelineProcess:
        """The youngest that lives."""
        return [process for process in self.living() if process.name.startswith(f"{role}-")][-1]

    def health_urls(self) -> dict[str, str]:
        """Where the living tell their metrics, by name."""
        living = {process.name for process in self.living()}
        return {name: url for name, url in self._health.items() if name in living}

    def living(self) -> list[DuelineProcess]:
        return [process for process in self.processes if process.exit_status is None]

    def close(self) -> None:
        for process in self.processes:
            process.discard()
