"""Imports go down only, and each third-party library has its home."""

import ast
import sys
from collections.abc import Callable

import pytest

from tests.tidy.imports import imported_modules
from tests.tidy.tree import Source, lies_in, python_sources

EVERYTHING = frozenset(
    [
        "domain",
        "wire",
        "runtime",
        "store",
        "config",
        "engine",
        "tasks",
        "worker",
        "api",
        "sdk",
        "declared",
        "moving",
        "drivers",
        "inbox",
        "testing",
        "console",
        "cli",
    ]
)

# What each part of the package may import besides itself. A part that is not listed may not exist.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "__init__": frozenset({"sdk", "tasks"}),
    "domain": frozenset(),
    "wire": frozenset({"domain"}),
    "runtime": frozenset({"domain"}),
    "store": frozenset({"domain", "runtime"}),
    "config": frozenset({"domain"}),
    "engine": frozenset({"domain", "store", "runtime", "config"}),
    "tasks": frozenset({"domain", "wire", "sdk", "config", "drivers", "runtime.clock"}),
    "worker": frozenset({"domain", "wire", "store", "runtime", "engine", "config", "tasks", "sdk"}),
    "api": frozenset(
        {
            "domain",
            "wire",
            "store.calendars",
            "store.fleet",
            "store.names",
            "store.protocol",
            "store.shapes",
            "runtime",
            "engine",
            "config",
        }
    ),
    "sdk": frozenset({"domain", "wire", "config", "runtime.chance", "runtime.clock", "runtime.keyfiles"}),
    "declared": frozenset({"domain", "wire", "sdk"}),
    "moving": frozenset({"domain", "wire"}),
    "drivers": frozenset({"domain"}),
    "inbox": frozenset({"domain", "drivers", "runtime.clock"}),
    "testing": EVERYTHING - {"cli", "console"},
    "console": EVERYTHING,
    "cli": EVERYTHING,
    "__main__": frozenset({"cli"}),
}

# The homes of libraries that must not spread. `dueline serve` starts uvicorn through the API.
HOMES: dict[str, tuple[str, ...]] = {
    "apsw": ("store/sqlite/",),
    "asyncpg": ("store/postgres/",),
    "prometheus_client": ("api/",),
    "pycurl": ("worker/executors/",),
    "starlette": ("api/",),
    "uvicorn": ("api/",),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "yaml": ("declared/", "moving/"),
}

# The oracles of other schedulers are of no worth if they share a mistake with what they judge.
ORACLES = "moving/oracles/"

DOMAIN_LIBRARIES = frozenset({"msgspec", "tzdata"})
# Doors to the outside: the clock, chance, the loop, threads, files, processes and the network.
IMPURE = frozenset(
    [
        "asyncio",
        "concurrent",
        "io",
        "multiprocessing",
        "os",
        "pathlib",
        "random",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "sqlite3",
        "ssl",
        "subprocess",
        "tempfile",
        "threading",
        "time",
        "urllib",
    ]
)


def upward_imports(source: Source) -> list[str]:
    """The imports inside the package that its layers do not allow."""
    part = _part(source.module_path)
    if part not in MAY_IMPORT:
        return [f"{source.path}: {part} has no layer"]
    allowed = MAY_IMPORT[part] | {part}
    found = []
    for line, name in imported_modules(ast.parse(source.text), source.module_path):
        if not _is_within(name, "dueline") or name in ("dueline", "dueline.__version__"):
            continue
        inside = name.removeprefix("dueline.")
        if not any(_is_within(inside, layer) for layer in allowed):
            found.append(f"{source.path}:{line}: {part} must not import {name}")
    return found


def strayed_libraries(source: Source) -> list[str]:
    """The imports of libraries outside their homes."""
    return [
        f"{source.path}:{line}: {library} belongs to {', '.join(HOMES[library])}"
        for line, name in imported_modules(ast.parse(source.text), source.module_path)
        if (library := name.partition(".")[0]) in HOMES and not lies_in(source.module_path, HOMES[library])
    ]


def impure_imports(source: Source) -> list[str]:
    """The imports that would let the domain see more of the world than its arguments."""
    if not source.module_path.startswith("domain/"):
        return []
    pure = (sys.stdlib_module_names - IMPURE) | DOMAIN_LIBRARIES | {"dueline"}
    return [
        f"{source.path}:{line}: the domain must not import {name}"
        for line, name in imported_modules(ast.parse(source.text), source.module_path)
        if name.partition(".")[0] not in pure
    ]


def shared_oracles(source: Source) -> list[str]:
    """The imports by which an oracle would judge itself."""
    if not source.module_path.startswith(ORACLES):
        return []
    return [
        f"{source.path}:{line}: an oracle must not import {name}"
        for line, name in imported_modules(ast.parse(source.text), source.module_path)
        if _is_within(name, "dueline") and not _is_within(name, "dueline.moving.oracles")
    ]


def _part(module_path: str) -> str:
    return module_path.partition("/")[0].removesuffix(".py")


def _is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _source(module_path: str, text: str) -> Source:
    return Source(f"src/dueline/{module_path}", text)


@pytest.mark.parametrize(
    ("module_path", "text"),
    [
        ("domain/job.py", "from dueline.store import protocol"),
        ("domain/job.py", "import dueline.runtime.clock"),
        ("domain/job.py", "from ..runtime import clock"),
        ("wire/job.py", "from dueline.store.protocol import Store"),
        ("runtime/loop.py", "def late():\n    import dueline.store"),
        ("store/protocol.py", "if TYPE_CHECKING:\n    from dueline.engine.node import Node"),
        ("engine/node.py", "from dueline.worker.worker import Worker"),
        ("worker/worker.py", "from dueline.api import app"),
        ("api/app.py", "from dueline.store.sqlite.store import SqliteStore"),
        ("api/app.py", "from dueline.store import sqlite"),
        ("sdk/client.py", "from dueline import engine"),
        ("config.py", "from dueline.cli import main"),
        ("elsewhere/thing.py", ""),
    ],
)
def test_an_upward_import_is_found(module_path: str, text: str) -> None:
    assert upward_imports(_source(module_path, text))


@pytest.mark.parametrize(
    ("module_path", "text"),
    [
        ("domain/job.py", "from dueline.domain.ids import JobId\nimport datetime"),
        ("domain/job.py", "from .ids import JobId"),
        ("api/app.py", "from dueline import __version__\nfrom dueline.store.protocol import Store"),
        ("api/app.py", "from dueline.store import protocol"),
        ("engine/node.py", "from dueline.config import Settings"),
        ("cli/main.py", "from dueline.api.app import build"),
        ("store/sqlite/jobs.py", "from ..protocol import Store"),
    ],
)
def test_a_downward_import_is_not_found(module_path: str, text: str) -> None:
    assert upward_imports(_source(module_path, text)) == []


@pytest.mark.parametrize("library", HOMES)
def test_a_strayed_library_is_found(library: str) -> None:
    assert strayed_libraries(_source("engine/node.py", f"import {library}"))
    assert strayed_libraries(_source("engine/node.py", f"from {library}.part import thing"))
    assert not strayed_libraries(_source(f"{HOMES[library][0]}thing.py", f"import {library}"))


@pytest.mark.parametrize("module", ["asyncio", "time", "random", "os", "structlog", "apsw", "concurrent.futures"])
def test_an_impure_import_of_the_domain_is_found(module: str) -> None:
    assert impure_imports(_source("domain/job.py", f"import {module}"))
    assert not impure_imports(_source("runtime/clock.py", f"import {module}"))


@pytest.mark.parametrize("module", ["datetime", "zoneinfo", "msgspec", "hashlib", "dueline.domain.ids"])
def test_a_pure_import_of_the_domain_is_not_found(module: str) -> None:
    assert impure_imports(_source("domain/job.py", f"import {module}")) == []


def test_an_oracle_that_shares_code_is_found() -> None:
    for module in ("dueline.domain.cron", "dueline.moving.terms"):
        assert shared_oracles(_source("moving/oracles/vixie.py", f"import {module}"))
    assert not shared_oracles(_source("moving/oracles/vixie.py", "from dueline.moving.oracles.walls import walk"))


@pytest.mark.parametrize("rule", [upward_imports, strayed_libraries, impure_imports, shared_oracles])
def test_the_package_keeps_its_layers(rule: Callable[[Source], list[str]]) -> None:
    assert [finding for source in python_sources("src") for finding in rule(source)] == []
