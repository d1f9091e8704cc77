"""What commands print: tables for people, JSON and YAML for programs. Colour only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from dueline.cli.exits import BAD_INPUT, FAILED
from dueline.cli.later import Later
from dueline.cli.times import short_time
from dueline.domain.texts import CONTROL
from dueline.runtime.clock import SystemClock
from dueline.wire.reading import decode, encode

if TYPE_CHECKING:
    from rich import progress as rich_progress

    from dueline.cli import tables
    from dueline.declared import writing
else:
    rich_progress, tables = Later("rich.progress"), Later("dueline.cli.tables")
    writing = Later("dueline.declared.writing")

WIDTH_BARS = 100
_SCHEDULE_KINDS = ("at", "cron", "every", "after", "repeat", "rrule")


class Output(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


OutputOption = Annotated[
    Output, typer.Option("--output", "-o", help="A table for people, or JSON or YAML for programs.")
]

A_LINE_EACH = ContextVar("a_line_each", default=False)
"""Whether JSON is printed in one line: for programs that read one document after another."""


def print_data(value: Any, output: Output) -> None:
    """The same for programs: all of it, in JSON or in YAML."""
    if output is Output.YAML:
        typer.echo(writing.to_yaml([decode(encode(value))]), nl=False)
    else:
        print_json(value)


def print_json(value: Any) -> None:
    raw = encode(value)
    typer.echo((raw if A_LINE_EACH.get() else msgspec.json.format(raw, indent=2)).decode())


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    uncut: Sequence[str] = (),
    spare: Sequence[str] = (),
    times: Sequence[str] = (),
    wraps: str | None = None,
    err: bool = False,
) -> None:
    """A table that fits the terminal, as `tables` has it; elsewhere nothing is cut, left out or short. `err`: beside the result."""
    console = tables.console(err=err)
    is_terminal = console.file.isatty()
    console.print(
        tables.table_of(
            columns,
            rows,
            uncut=uncut,
            spare=spare,
            times=times,
            wraps=wraps if is_terminal else None,
            width=console.width,
            now_ms=SystemClock().wall_ms() if is_terminal else None,
        )
    )


def print_record(record: dict[str, Any]) -> None:
    """One thing, a field a line."""
    tables.console().print(tables.record_of(record))


def print_lines(lines: Iterable[tuple[str, str]], *, err: bool = False) -> None:
    """Lines, each a style and a text. They are cut nowhere."""
    console = tables.console(err=err)
    for style, text in lines:
        console.print(tables.styled(text, style), soft_wrap=True)


def print_event(at: str, *parts: str | None) -> None:
    """A line that tells of an instant: at a terminal its time is short."""
    console = tables.console()
    when = short_time(at, now_ms=SystemClock().wall_ms()) if console.file.isatty() else at
    console.print(tables.line_of(part for part in (when, *parts) if part is not None), soft_wrap=True)
    console.file.flush()


def show(record: dict[str, Any], output: Output) -> None:
    """One thing, in the form that was asked for."""
    if output is Output.TABLE:
        print_record(record)
    else:
        print_data(record, output)


def show_bulk(answer: dict[str, Any], noun: str, output: Output) -> None:
    """What became of each of many things; ends the command as failed when one of them was refused."""
    if output is not Output.TABLE:
        print_data(answer, output)
    else:
        print_table(
            ["STATUS", "ID", "PROBLEM"],
            [(item["status"], item.get(noun, {}).get("id"), _told(item.get("problem"))) for item in answer["items"]],
            uncut=["ID"],
            wraps="PROBLEM",
        )
    if answer["failed"]:
        typer.echo(f"{answer['failed']} of {len(answer['items'])} were refused.", err=True)
        raise typer.Exit(FAILED)


def print_bars(bars: Sequence[tuple[str, float, str]]) -> None:
    """Rows of a label, a bar as long as its number, and a text, in the width of the terminal."""
    console = tables.console()
    console.print(tables.bars_of(bars, min(console.width, WIDTH_BARS)))


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`, `1,000 runs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def job_label(run: dict[str, Any]) -> str | None:
    """The job of a run as people know it: by its name, and by its id where it has none."""
    label: str | None = run.get("job_name") or run["job_id"]
    return label


def schedule_line(schedule: dict[str, Any] | None) -> str | None:
    """A schedule in a line: `cron 0 9 * * 1-5 Europe/Berlin`."""
    if not schedule:
        return None
    kind = next((kind for kind in _SCHEDULE_KINDS if kind in schedule), "")
    said = str(schedule.get(kind, "")).replace("\n", " ")
    return " ".join(part for part in (kind, said, schedule.get("timezone")) if part)


def target_line(target: dict[str, Any]) -> str:
    """A target in a line: `task report`, or `POST https://example.com/`."""
    return f"task {target['task']}" if target["type"] == "task" else f"{target['method']} {target['url']}"


def print_page(page: dict[str, Any], *, everything: bool = True) -> None:
    """Tell how to get the rest of a list; `everything`: all of it can be had at once."""
    if page["next_cursor"] is not None:
        typer.echo(f"There is more: --cursor {page['next_cursor']}{', or --all' if everything else ''}", err=True)


def confirm(question: str) -> None:
    """Ask on stderr, and end the command unless somebody says yes: stdout is for the result alone. Where nobody sits at a terminal nobody
    is asked, and nothing is done."""
    question = CONTROL.sub("�", question)
    if not sys.stdin.isatty():
        typer.echo(f"{question}\nError: this is no terminal, so nobody can be asked: say --yes to do it.", err=True)
        raise typer.Exit(BAD_INPUT)
    typer.echo(f"{question} [y/N] ", nl=False, err=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        typer.echo("Nothing was done.", err=True)
        raise typer.Exit(FAILED)


@contextmanager
def progress(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """How far a command is, on stderr: a bar on a terminal, and elsewhere nothing. Gives what moves it on by so many."""
    with rich_progress.Progress(
        console=tables.console(err=True), disable=not sys.stderr.isatty(), transient=True
    ) as bar:
        task = bar.add_task(text, total=total)

        yield lambda count: bar.advance(task, count)


def _told(problem: dict[str, Any] | None) -> str | None:
    if problem is None:
        return None
    errors = problem.get("errors", ())
    return "; ".join(f"{error['field']}: {error['reason']}" for error in errors) or str(problem.get("detail", ""))
