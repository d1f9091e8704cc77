"""`dueline db copy`: moves an installation to another database."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Annotated, Self

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from dueline.cli.output import Output, OutputOption, confirm, print_data, print_table
from dueline.domain.durations import parse_duration
from dueline.domain.errors import DuelineError, Invalid
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import SystemClock
from dueline.store.copying.copier import Copier, Report
from dueline.store.copying.opening import make_source, make_target
from dueline.store.copying.sides import Source
from dueline.store.copying.tables import COPIED

SETTLE = "3s"
SETTLE_MS_MAX = 3_600_000
_UNTOUCHED = "The source is as it was, and goes on. Run the same again to go on, or with --abandon to give it up."
_SEALED = "The source is sealed. Run the same again to release the target, if that is not done."


def register(app: typer.Typer) -> None:
    app.command(name="copy")(copy)


def copy(
    from_: Annotated[
        str, typer.Option("--from", help="What to move: an SQLite file, in use or not, or a PostgreSQL at rest.")
    ],
    to: Annotated[str | None, typer.Option(help="An empty database: postgresql://…, sqlite:///path or a path.")] = None,
    settle: Annotated[str, typer.Option(help="How long runs under way may take to end before writes stop.")] = SETTLE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what there is to copy.")] = False,
    abandon: Annotated[
        bool, typer.Option("--abandon", help="Give up a copy that was begun: the source is rid of it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Move an installation to another database while it runs: jobs, runs, history, everything.

    Writes stop for a moment at the end. From then on the source refuses to be served, and the target is served in its place. Whatever
    interrupts it, run it again: it goes on where it was.

    \b
    Example:
      dueline db copy --from dueline.db --to postgresql://localhost/dueline
    """
    settle_ms = parse_duration(settle, field="settle", most_ms=SETTLE_MS_MAX)
    if to is None and not (dry_run or abandon):
        raise Invalid(("to", "where to? Give an empty database: postgresql://…, sqlite:///path or a path"))
    if abandon:
        asyncio.run(_abandon(from_))
    elif dry_run:
        _print_rows(asyncio.run(_counted(from_)), output)
    else:
        assert to is not None
        _print(asyncio.run(_copy(from_, to, settle_s=settle_ms / 1000, ask=not yes)), output)


async def _copy(from_: str, to: str, *, settle_s: float, ask: bool) -> Report:
    clock = SystemClock()
    source, target = make_source(from_, clock), make_target(to, clock)
    if source.address == target.address:
        raise Invalid(("to", "is the source itself"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(source.close)
        await source.open()
        stack.push_async_callback(target.close)
        if ask:
            rows = sum((await _counts(source)).values())
            confirm(
                f"Move {rows:,} rows from {source.address} to {target.address}? Writes stop for a moment at the end, and whoever serves "
                "the source ends then."
            )
        await target.open()
        with _Bars() as bars:
            copier = Copier(source, target, clock, SystemChance(), bars)
            try:
                return await copier.run(settle_s=settle_s)
            except DuelineError:
                bars.said(_SEALED if copier.sealed else _UNTOUCHED)
                raise


async def _counted(from_: str) -> dict[str, int]:
    source = make_source(from_, SystemClock())
    await source.open()
    try:
        return await _counts(source)
    finally:
        await source.close()


async def _counts(source: Source) -> dict[str, int]:
    for table in COPIED:
        await source.columns(table)
    return {table.name: await source.count(table) for table in COPIED}


async def _abandon(from_: str) -> None:
    source = make_source(from_, SystemClock())
    await source.open()
    try:
        await source.forget()
    finally:
        await source.close()
    typer.echo(f"{source.address} is rid of the copy. Its target is of no use any more.", err=True)


def _print_rows(rows: dict[str, int], output: Output) -> None:
    if output is not Output.TABLE:
        print_data({"rows": rows}, output)
    else:
        print_table(["TABLE", "ROWS"], [(name, f"{count:,}") for name, count in rows.items()])


def _print(report: Report, output: Output) -> None:
    if output is not Output.TABLE:
        print_data({"rows": report.rows, "write_stop_s": report.write_stop_s, "under_way": report.under_way}, output)
        return
    if report.rows:
        print_table(["TABLE", "ROWS COMPARED"], [(name, f"{count:,}") for name, count in report.rows.items()])
    if report.under_way:
        typer.echo(f"{report.under_way} runs were under way when writes stopped, and are carried out again.", err=True)


class _Bars:
    """How far the copy is, on stderr: a bar for each table on a terminal, a line for each elsewhere."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=Console(stderr=True, highlight=False),
            disable=not sys.stderr.isatty(),
        )
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._told: set[tuple[str, str]] = set()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._progress.stop()

    def said(self, text: str) -> None:
        if self._progress.disable:
            typer.echo(text, err=True)
        else:
            self._progress.console.print(text, markup=False)

    def moved_on(self, doing: str, table: str, rows: int, total: int) -> None:
        step = (doing, table)
        if self._progress.disable:
            if rows >= total > 0 and step not in self._told:
                self._told.add(step)
                typer.echo(f"{table}: {rows:,} rows {doing}", err=True)
            return
        if step not in self._tasks:
            self._tasks[step] = self._progress.add_task(f"{table} {doing}", total=total)
        self._progress.update(self._tasks[step], completed=rows, total=total)
