"""`dueline db …`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated

import typer

from dueline.cli import copying
from dueline.cli.output import Output, OutputOption, print_json, print_table
from dueline.config import load_settings
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store
from dueline.store.protocol import Store
from dueline.store.shapes import MigrationState

app = typer.Typer(help="The database: its schema and its migrations.", no_args_is_help=True)
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
    """Show which migrations are applied.

    \b
    Example:
      dueline db status
    """
    _print(asyncio.run(_ask(db, lambda store: store.schema())), output)


async def _ask(
    db: str | None, question: Callable[[Store], Awaitable[Sequence[MigrationState]]]
) -> Sequence[MigrationState]:
    settings = load_settings({} if db is None else {"db": db})
    store = make_store(settings.db, SystemClock())
    await store.open()
    try:
        return await question(store)
    finally:
        await store.close()


def _print(migrations: Sequence[MigrationState], output: Output) -> None:
    if output is Output.JSON:
        print_json({"migrations": migrations})
        return
    print_table(
        ["VERSION", "NAME", "APPLIED"],
        [(migration.version, migration.name, "yes" if migration.applied else "no") for migration in migrations],
    )
