"""What commands print: tables for people, JSON for programs. Colour only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dueline.wire.labels import CONTROL
from dueline.wire.reading import encode

WIDTH_PIPED = 1_000
"""Columns of a table that goes to a program or a file: nothing is cut there."""
_STATE_STYLES = {
    "active": "green",
    "succeeded": "green",
    "running": "cyan",
    "paused": "yellow",
    "held": "yellow",
    "retrying": "yellow",
    "failed": "red",
    "expired": "red",
    "cancelled": "dim",
    "finished": "dim",
}


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table for people, or JSON for programs.")]


def print_json(value: Any) -> None:
    typer.echo(msgspec.json.format(encode(value), indent=2).decode())


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, uncut: Sequence[str] = ()) -> None:
    """A table that fits the terminal: long cells are cut, those of `uncut` columns never."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ignore" if column in uncut else "ellipsis")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    _console().print(table)


def print_record(record: dict[str, Any]) -> None:
    """One thing, a field a line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for name, value in record.items():
        table.add_row(name, _cell(value))
    _console().print(table)


def print_page(page: dict[str, Any]) -> None:
    """Tell how to get the rest of a list."""
    if page["next_cursor"] is not None:
        typer.echo(f"There is more: --cursor {page['next_cursor']}, or --all", err=True)


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else WIDTH_PIPED, highlight=False)


def _cell(value: Any) -> Text:
    """Text without markup and without control characters: names and errors come from others."""
    if value is None:
        return Text("-", style="dim")
    text = value if isinstance(value, str) else encode(value).decode()
    return Text(CONTROL.sub("�", text), style=_STATE_STYLES.get(text, ""))
