"""Builds and their checks: what was found, by which of them, and after how long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock

import msgspec

from proof.mutants.building import ROOT, Mutant, Outgrown, build
from proof.mutants.checks import Check, invariants_of

UNBROKEN = "unbroken"
_alone = Lock()
"""Held by whoever has a check that wants to be the only one of its kind."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One check of one build. `trouble` says why it has no answer."""

    check: str
    seconds: float
    found: str | None = None
    trouble: str | None = None


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a mutant."""

    name: str
    tells: str
    tried: list[Tried]
    skipped: str | None = None

    @property
    def finder(self) -> Tried | None:
        return self.tried[-1] if self.tried and self.tried[-1].found is not None else None

    @property
    def is_missed(self) -> bool:
        return self.finder is None and self.skipped is None

    def figures(self) -> dict[str, object]:
        """As a line of JSON has it."""
        finder = self.finder
        return {
            "name": self.name,
            "tells": self.tells,
            "found_by": None if finder is None else finder.check,
            "invariants": None if finder is None else invariants_of(finder.found or ""),
            "said": None if finder is None else finder.found,
            "seconds": round(sum(one.seconds for one in self.tried), 1),
            "tried": self.tried,
            "skipped": self.skipped,
        }


def hunt(mutant: Mutant) -> Told:
    """Try the checks of a mutant in their order, until one finds it."""
    if (lacking := mutant.why_not()) is not None:
        return Told(name=mutant.name, tells=mutant.tells, tried=[], skipped=lacking)
    tried: list[Tried] = []
    with tempfile.TemporaryDirectory(prefix="dueline-mutant-") as folder:
        try:
            environment = build(mutant.edits, Path(folder))
            _check_use(environment, Path(folder))
        except (Outgrown, subprocess.CalledProcessError) as error:
            tried.append(Tried(check="build", seconds=0.0, trouble=str(error)))
            return Told(name=mutant.name, tells=mutant.tells, tried=tried)
        for check in mutant.checks:
            tried.append(_try(check, mutant.name, environment))
            if tried[-1].found is not None:
                break
    return Told(name=mutant.name, tells=mutant.tells, tried=tried)


def control(check: Check) -> Tried:
    """The same check of a build that is made in the same way, and not broken."""
    with tempfile.TemporaryDirectory(prefix="dueline-mutant-") as folder:
        environment = build((), Path(folder))
        _check_use(environment, Path(folder))
        return _try(check, UNBROKEN, environment)


def checks_of(mutants: Sequence[Mutant]) -> list[Check]:
    """Each of their checks once, those that may take longest first."""
    checks = dict.fromkeys(check for mutant in mutants if mutant.why_not() is None for check in mutant.checks)
    return sorted(checks, key=lambda check: -check.within_s)


def _check_use(environment: dict[str, str], folder: Path) -> None:
    """That a process started with it runs the build, and no other."""
    program = "import dueline.cli.main, dueline.worker.worker, sys; sys.stdout.write(dueline.__file__)"
    used = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    assert Path(used.stdout).is_relative_to(folder), f"{used.stdout} was to be in {folder}"


def _try(check: Check, build_name: str, environment: dict[str, str]) -> Tried:
    if check.alone:
        with _alone:
            return _run(check, build_name, environment)
    return _run(check, build_name, environment)


def _run(check: Check, build_name: str, environment: dict[str, str]) -> Tried:
    began_s = time.monotonic()
    # Whatever it starts is in a group of its own, so that nothing of it is left when it has to be ended.
    with subprocess.Popen(
        check.command(build_name),
        cwd=ROOT,
        env={**environment, "SHRINK": "no", "COLUMNS": "250"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(timeout=check.within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            late = f"it was ended after {check.within_s:.0f} s"
            return Tried(check=check.name, seconds=time.monotonic() - began_s, trouble=late)
    took_s = time.monotonic() - began_s
    found = check.found(said)
    trouble = None
    if found is None and process.returncode:
        trouble = f"it ended with {process.returncode}: {' '.join(said.split())[-400:]}"
    return Tried(check=check.name, seconds=took_s, found=found, trouble=trouble)
