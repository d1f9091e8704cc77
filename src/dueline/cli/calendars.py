"""`dueline calendar …`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_page, print_table, show
from dueline.cli.watching import watchable
from dueline.domain.errors import Invalid

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the calendar.")]


@app.command()
def put(
    name: Name,
    date: Annotated[
        list[str] | None,
        typer.Option("--date", help="2026-12-25, 2026-12-24/2027-01-01, or 12-25 for every year; repeat it."),
    ] = None,
    weekday: Annotated[list[str] | None, typer.Option("--weekday", help="MON to SUN; repeat it.")] = None,
    ics: Annotated[
        Path | None, typer.Option("--ics", help="The days of the events in an iCalendar file, - for standard input.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write a calendar, new or in place of the one that is there. Jobs that name it are planned by it at once.

    \b
    Examples:
      dueline calendar put holidays --date 12-25 --date 2026-12-24/2027-01-01 --weekday SAT --weekday SUN
      dueline calendar put holidays --ics holidays.ics
    """
    asked = options.given(dates=date, weekdays=weekday, icalendar=None if ics is None else _text(ics))
    with connect() as client:
        show(client.calendars.put(name, **asked), output)


@app.command("list")
@watchable
def list_(
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List calendars by name.

    \b
    Example:
      dueline calendar list
    """
    with connect() as client:
        page = read_page(client.calendars.list, limit=limit, cursor=cursor, everything=all_)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["NAME", "VERSION", "UPDATED", "WEEKDAYS", "DATES"],
        [
            (one["name"], one["version"], one["updated_at"], " ".join(one["weekdays"]), " ".join(one["dates"]))
            for one in page["items"]
        ],
        uncut=["NAME"],
        spare=["UPDATED", "VERSION"],
        times=["UPDATED"],
        wraps="DATES",
    )
    print_page(page)


@app.command()
@watchable
def get(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show a calendar.

    \b
    Example:
      dueline calendar get holidays
    """
    with connect() as client:
        show(client.calendars.get(name), output)


@app.command()
def delete(name: Name, yes: options.Yes = False) -> None:
    """Delete a calendar that no job names. Asks first.

    \b
    Example:
      dueline calendar delete holidays
    """
    with connect() as client:
        if not yes:
            found = client.calendars.get(name)
            days = f"{len(found['dates'])} dates and {len(found['weekdays'])} weekdays"
            confirm(f"Delete the calendar {name}, with {days}?")
        client.calendars.delete(name)
    typer.echo(f"Deleted {name}.", err=True)


def _text(path: Path) -> str:
    try:
        return (sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()).decode()
    except OSError as error:
        raise Invalid(("--ics", f"cannot read {path}: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise Invalid(("--ics", f"{path} is not UTF-8 text")) from None
