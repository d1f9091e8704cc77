"""Nothing in the repository tells of the machine it was written on, or of where packages are fetched from."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT

# Written in pieces, so that this file is no finding of its own.
SLASH = "/"
MACHINE_DIRS = tuple(SLASH + name + SLASH for name in ("root", "work", "home"))
REGISTRY_HOSTS = ("pypi" + ".org", "files." + "pythonhosted" + ".org", "registry." + "npmjs" + ".org")
ADDRESS = re.compile(r"\b(?:https?|file|git\+\w+)" + ":" + SLASH * 2)
# A machine's path begins where a path can begin, unlike the tail of a longer one or of an address.
MACHINE_PATH = re.compile(r"(?<![\w.~\-}$/])(?:" + "|".join(map(re.escape, MACHINE_DIRS)) + ")")

UNTRACKED_DIRS = frozenset(
    [
        ".git",
        ".venv",
        ".tools",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        "__pycache__",
        "node_modules",
        "build",
        "dist",
    ]
)


def traces(path: str, text: str) -> list[str]:
    """What a file gives away."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        if MACHINE_PATH.search(line):
            found.append(f"{path}:{number}: a path of a machine")
        if any(host in line for host in REGISTRY_HOSTS):
            found.append(f"{path}:{number}: the host of a registry")
        if is_lock(path) and ADDRESS.search(line):
            found.append(f"{path}:{number}: an address in a lock file")
    return found


def is_lock(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "requirements/" in path or name.endswith(".lock") or name == "package-lock.json"


def repository_files() -> list[Path]:
    """What is tracked, or would be: as git sees it, and in an unpacked archive everything that is not built."""
    if (ROOT / ".git").exists():
        command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
        return [path for name in names if name and (path := ROOT / name).is_file()]
    return [
        path
        for path in sorted(ROOT.rglob("*"))
        if path.is_file() and UNTRACKED_DIRS.isdisjoint(path.relative_to(ROOT).parts)
    ]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/start.md", f"See {MACHINE_DIRS[0]}notes.txt"),
        ("docs/start.md", f"cd {MACHINE_DIRS[1]}main"),
        ("Makefile", f"HOME={MACHINE_DIRS[2]}someone"),
        *[("docs/start.md", f"from {host}") for host in REGISTRY_HOSTS],
        ("requirements/run.txt", "--index-url http" + "://example.com/simple"),
        ("requirements/run.txt", "--find-links file" + ":///wheels"),
        ("bench/peers/requirements/huey.txt", "--index-url http" + "://example.com/simple"),
        ("console/package-lock.json", '"resolved": "https' + '://example.com/preact.tgz"'),
    ],
)
def test_a_trace_is_found(path: str, text: str) -> None:
    assert traces(path, text)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/start.md", "POST /v1/work/claim, see https" + "://example.com/work/"),
        ("requirements/run.txt", "apsw==3.50.1 --hash=sha256:00"),
    ],
)
def test_an_innocent_line_is_not_found(path: str, text: str) -> None:
    assert traces(path, text) == []


def test_the_repository_gives_nothing_away() -> None:
    files = repository_files()
    assert ROOT / "pyproject.toml" in files
    findings = []
    for path in files:
        findings += traces(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8", errors="ignore"))
    assert findings == []
