"""What a build is held to: seeds of the simulation, tests, or a scenario, each in a process of its own."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

RED = "RED "
"""Begins the line in which a program of ours says what it found."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", re.MULTILINE)
_FOUND = re.compile(rf"^{RED}(.*)$", re.MULTILINE)
_INVARIANTS = re.compile(r"\bI\d+(?:(?:/|, )I\d+)*(?=:)")
PYTEST = ("pytest", "-q", "-x", "--tb=line", "-rfE", "-p", "no:cacheprovider")


class Check(Protocol):
    """`alone` is one that judges processes by the clock: of these there is one at a time."""

    @property
    def name(self) -> str: ...

    @property
    def alone(self) -> bool: ...

    @property
    def within_s(self) -> float:
        """It ends before that, or it is ended, and then has found nothing."""
        ...

    def command(self, build: str) -> list[str]:
        """What to run; `build` is the name of what is checked."""
        ...

    def found(self, said: str) -> str | None:
        """What it found, by what it printed."""
        ...


@dataclass(frozen=True)
class Seeds:
    """The simulation, one seed after the other until one is red."""

    count: int
    minutes: float = 6.0
    alone: bool = False
    within_s: float = 900.0

    @property
    def name(self) -> str:
        return "simulation"

    def command(self, build: str) -> list[str]:  # noqa: ARG002
        return [sys.executable, "-m", "proof.mutants.seeds", str(self.count), str(self.minutes)]

    def found(self, said: str) -> str | None:
        return _first(_FOUND, said)


@dataclass(frozen=True)
class Suite:
    """Tests by their paths, up to the first that fails."""

    name: str
    paths: tuple[str, ...]
    long: bool = False
    alone: bool = False
    within_s: float = 600.0

    def command(self, build: str) -> list[str]:  # noqa: ARG002
        chosen = ("-m", "long or not long") if self.long else ()
        return [sys.executable, "-m", *PYTEST, *chosen, *self.paths]

    def found(self, said: str) -> str | None:
        match = _FAILED.search(said)
        return None if match is None else " - ".join(part for part in match.groups() if part)


@dataclass(frozen=True)
class Scene:
    """A scenario of `make faults`, or its beginning. Figures do not count here: what was broken does."""

    scenario: str
    lasts_s: float
    alone: bool = True
    within_s: float = 400.0

    @property
    def name(self) -> str:
        return f"scenario {self.scenario}"

    def command(self, build: str) -> list[str]:
        return [sys.executable, "-m", "proof.mutants.playing", self.scenario, str(self.lasts_s), build]

    def found(self, said: str) -> str | None:
        return _first(_FOUND, said)


def summary(wrong: Sequence[str]) -> str:
    """All invariants that findings name, and one of the findings; those that name none, such as a step that broke, come last."""
    names = {name for one in wrong for name in re.findall(r"I\d+", invariants_of(one) or "")}
    first = min(wrong, key=lambda one: invariants_of(one) is None)
    told = " ".join(first.removeprefix(f"{invariants_of(first)}: ").split())
    return f"{', '.join(sorted(names, key=lambda name: int(name[1:])))}: {told}" if names else told


def invariants_of(found: str) -> str | None:
    """The invariants that a finding names, if it names some."""
    match = _INVARIANTS.search(found)
    return None if match is None else match.group()


def _first(pattern: re.Pattern[str], said: str) -> str | None:
    match = pattern.search(said)
    return None if match is None else match.group(1)
