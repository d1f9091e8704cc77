"""`dueline forecast`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, print_bars, print_data, print_table, schedule_line

_ROWS_MAX = 24
_HOTTEST = 5


def register(app: typer.Typer) -> None:
    app.command()(forecast)


def forecast(
    hours: Annotated[int | None, typer.Option("--hours", help="So many hours ahead, up to 168. Default: 24.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the load of the hours to come, the hottest minutes, and what would spread them. Times are UTC.

    \b
    Example:
      dueline forecast --hours 48
    """
    with connect() as client:
        found = client.forecasts.get(hours=hours)
    if output is not Output.TABLE:
        print_data(found, output)
        return
    _print_load(found)
    if found["peak"] is None:
        typer.echo("\nNothing is scheduled in this time.")
        return
    typer.echo(f"\nThe peak is {found['peak']['runs']:g} runs in the minute of {_minute(found['peak']['at'])}.\n")
    print_table(
        ["MINUTE", "RUNS", "MOST OF THEM BY"],
        [(_minute(hot["at"]), f"{hot['runs']:g}", _blame(hot["by"])) for hot in found["hottest"][:_HOTTEST]],
        uncut=["MINUTE"],
    )
    for proposal in found["proposals"]:
        typer.echo(f"\n{_proposal(proposal)}")


def _print_load(found: dict[str, Any]) -> None:
    """A bar for every hour, or for several where there are many."""
    starts, minutes = datetime.fromisoformat(found["from"]), found["minutes"]
    hours_a_row = -(-len(minutes) // 60 // _ROWS_MAX) or 1
    bars = []
    for first in range(0, len(minutes), hours_a_row * 60):
        load = sum(minutes[first : first + hours_a_row * 60])
        shown = starts + timedelta(minutes=first)
        bars.append((f"{shown:%a %H:%M}", load, f"{load:,.0f}"))
    print_bars(bars)
    left_out = "" if found["complete"] else ", and more jobs than could be looked at"
    typer.echo(f"\n{found['total']:,.0f} runs of {found['jobs']:,} jobs{left_out}.")


def _blame(shares: list[dict[str, Any]]) -> str:
    if not shares:
        return ""
    share = shares[0]
    return f"{_jobs(share)} with {schedule_line(share['schedule'])}"


def _proposal(proposal: dict[str, Any]) -> str:
    change = proposal["change"]
    what = change if change.startswith("jitter") else f"the expression {change!r}"
    return (
        f"Give {_jobs(proposal)} with {schedule_line(proposal['schedule'])} {what}: "
        f"the peak falls from {proposal['peak_before']:g} to {proposal['peak_after']:g}."
    )


def _jobs(share: dict[str, Any]) -> str:
    names = ", ".join(share["names"])
    more = ", …" if share["jobs"] > len(share["names"]) else ""
    return f"{share['jobs']} {'job' if share['jobs'] == 1 else 'jobs'} ({names}{more})"


def _minute(instant: str) -> str:
    return f"{datetime.fromisoformat(instant):%a %H:%M}"
