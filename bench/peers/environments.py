"""Where peers live: each in an environment of its own under `.tools/peers`, made from the locked requirements when it is first needed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from bench.measured import Absent

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_TOOLS = _ROOT / ".tools"
_HOMES = _TOOLS / "peers"
PROGRAMS = _HERE / "programs"
_INSTALL_S_MAX = 300.0
_READY = ".ready"


class Environment(Protocol):
    @property
    def home(self) -> Path: ...

    def prepare(self) -> None:
        """Make it if it is not there, or not of these requirements. Whoever cannot be had is `Absent`."""

    def command(self, program: str) -> list[str]:
        """What runs one of our programs in it."""

    def versions(self) -> dict[str, str]: ...


class PythonEnvironment:
    def __init__(self, name: str, *packages: str) -> None:
        """The packages are those whose versions are worth telling."""
        self.home = _HOMES / name
        self._requirements = _HERE / "requirements" / f"{name}.txt"
        self._packages = packages

    def prepare(self) -> None:
        if _is_made_of(self.home, [self._requirements]):
            return
        uv = os.environ.get("UV") or shutil.which("uv") or str(_TOOLS / "bin" / "uv")
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.parent.mkdir(parents=True, exist_ok=True)
        _install([uv, "venv", "--quiet", "--python", sys.executable, str(self.home)])
        install = [uv, "pip", "install", "--quiet", "--python", str(self.home), "--require-hashes"]
        _install([*install, "-r", str(self._requirements)])
        _mark(self.home, [self._requirements])

    def command(self, program: str) -> list[str]:
        return [str(self.home / "bin" / "python"), "-W", "ignore", str(PROGRAMS / program)]

    def versions(self) -> dict[str, str]:
        ask = "import importlib.metadata, sys; print('\\n'.join(map(importlib.metadata.version, sys.argv[1:])))"
        told = _told([str(self.home / "bin" / "python"), "-c", ask, *self._packages])
        return dict(zip(self._packages, told.split(), strict=True))


class NodeEnvironment:
    """One for all peers on Node: their packages do not meet."""

    def __init__(self, *packages: str) -> None:
        self.home = _HOMES / "node"
        self._packages = packages
        self._files = [_HERE / "node" / name for name in ("package.json", "package-lock.json")]

    def prepare(self) -> None:
        for tool in ("node", "npm"):
            if shutil.which(tool) is None:
                raise Absent(f"there is no {tool} on this machine")
        if _is_made_of(self.home, self._files):
            return
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        for file in self._files:
            shutil.copy(file, self.home)
        _install(["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=self.home)
        _mark(self.home, self._files)

    def command(self, program: str) -> list[str]:
        return ["node", str(PROGRAMS / program)]

    def versions(self) -> dict[str, str]:
        found = {"node": _told(["node", "--version"]).strip().removeprefix("v")}
        for package in self._packages:
            described = msgspec.json.decode((self.home / "node_modules" / package / "package.json").read_bytes())
            found[package] = described["version"]
        return found


def _is_made_of(home: Path, files: Sequence[Path]) -> bool:
    mark = home / _READY
    return mark.is_file() and mark.read_text() == _digest(files)


def _mark(home: Path, files: Sequence[Path]) -> None:
    (home / _READY).write_text(_digest(files))


def _digest(files: Sequence[Path]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _install(command: list[str], *, cwd: Path | None = None) -> None:
    print(f"  preparing: {Path(command[0]).name} {' '.join(command[1:3])} …", file=sys.stderr)
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=_INSTALL_S_MAX)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Absent(f"it cannot be installed: {error}") from error
    if done.returncode != 0:
        raise Absent(f"it cannot be installed: {(done.stderr or done.stdout).strip()[-300:]}")


def _told(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=_INSTALL_S_MAX).stdout
