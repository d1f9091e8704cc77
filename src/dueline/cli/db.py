"""`dueline db …`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import typer
from msgspec import to_builtins

from dueline.cli import copying
from dueline.cli.output import Output, OutputOption, print_data, print_table, show
from dueline.config import load_settings
from dueline.domain.access import ApiKey, KeyRole
from dueline.domain.errors import StoreInUse
from dueline.domain.job import DEFAULT_TENANT
from dueline.engine.keyring import Keyring
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import Clock, StoreTime, SystemClock
from dueline.store.conditions import look_at
from dueline.store.opening import make_store
from dueline.store.protocol import Store
from dueline.store.shapes import MigrationState
from dueline.wire.keys import new_key_view

T = TypeVar("T")

app = typer.Typer()
copying.register(app)

Db = Annotated[str | None, typer.Option(help="A file path, sqlite:///path, or postgresql://… [DUELINE_DB]")]


@app.command()
def migrate(db: Db = None, output: OutputOption = Output.TABLE) -> None:
    """Bring the schema up to date. Servers do so when they start; this is for doing it beforehand.

    \b
    Example:
      dueline db migrate --db postgresql://localhost/dueline
    """
    _print(asyncio.run(_ask(db, lambda store: store.migrate())), output)


@app.command()
def status(db: Db = None, output: OutputOption = Output.TABLE) -> None:
    """Show which migrations are applied, also of a database that is being served.

    \b
    Example:
      dueline db status
    """
    _print(asyncio.run(_schema(db)), output)


@app.command()
def key(
    db: Db = None,
    name: Annotated[str, typer.Option(help="What you know it by.")] = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Make an admin key straight in the database: the first of a server on the network, or another after all were lost.

    A database in a file must not be in use meanwhile.

    \b
    Example:
      dueline db key --db postgresql://localhost/dueline
    """
    made, text = asyncio.run(_ask(db, lambda store: _make_key(store, name)))
    show(to_builtins(new_key_view(made, text)), output)


async def _make_key(store: Store, name: str) -> tuple[ApiKey, str]:
    await store.migrate()
    clock = SystemClock()
    keyring = Keyring(store, lambda: StoreTime(clock), clock, SystemChance())
    return await keyring.create(DEFAULT_TENANT, KeyRole.ADMIN, name, expires_ms=None)


async def _schema(db: str | None) -> Sequence[MigrationState]:
    try:
        return await _ask(db, lambda store: store.schema())
    except StoreInUse:
        return await _ask(db, lambda store: store.schema(), make=look_at)


async def _ask(
    db: str | None, question: Callable[[Store], Awaitable[T]], *, make: Callable[[str, Clock], Store] = make_store
) -> T:
    settings = load_settings({} if db is None else {"db": db})
    store = make(settings.db, SystemClock())
    await store.open()
    try:
        return await question(store)
    finally:
        await store.close()


def _print(migrations: Sequence[MigrationState], output: Output) -> None:
    if output is not Output.TABLE:
        print_data({"migrations": migrations}, output)
        return
    print_table(
        ["VERSION", "NAME", "APPLIED"],
        [(migration.version, migration.name, "yes" if migration.applied else "no") for migration in migrations],
    )
