"""What the processes of a scenario stand on: a store, the way to it, and the tools that can hurt either."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from proof.fleet import Place
from tests.support.postgres import PostgresServer

DATABASE = "dueline"


@dataclass(frozen=True)
class Ground:
    """`db` is how processes reach the store, except for those in `places`, by name. `server` is there where the store is PostgreSQL."""

    db: str
    server: PostgresServer | None = None
    tools: Sequence[object] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    target_host: str = "127.0.0.1"


MakeGround: TypeAlias = "Callable[[Path, ExitStack], Ground]"
"""Makes it for a scenario with this folder, and leaves behind how it is taken down."""


def on_sqlite(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    return Ground(str(folder / "dueline.db"))


def on_postgres(folder: Path, kept: ExitStack) -> Ground:  # noqa: ARG001
    return served_by(PostgresServer(durable=True), kept)


def served_by(server: PostgresServer, kept: ExitStack, *tools: object) -> Ground:
    """A server that is started for the scenario, with an empty database."""
    kept.enter_context(server)
    server.create_database(DATABASE)
    return Ground(server.dsn(DATABASE), server, tools)
