"""`dueline job backfill`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.options import JobId
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_table

_SHOWN = 10
"""Runs of a plan that are shown before somebody is asked: its beginning; --dry-run shows all."""


def register(app: typer.Typer) -> None:
    """Add the command to those of jobs."""
    app.command()(backfill)


def backfill(
    job_id: JobId,
    from_: Annotated[str, typer.Option("--from", help="From this RFC 3339 time on.")],
    to: Annotated[str, typer.Option("--to", help="Before this RFC 3339 time, which must not lie ahead.")],
    cap: Annotated[int | None, typer.Option("--cap", help="Refuse more occurrences than this. Default: 100.")] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Runs a second. Default: 1.")] = None,
    overlap: Annotated[
        str | None, typer.Option("--overlap", help="The overlap policy of these runs. Default: queue_all.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would run.")] = False,
    yes: options.Yes = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a job for occurrences of the past. Shows the plan and asks first; what was asked for before is not run again.

    \b
    Examples:
      dueline job backfill job_01h455vb4pex5vsknk084sn02q --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z --dry-run
      dueline job backfill job_01h455vb4pex5vsknk084sn02q --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z --rate 5 --yes
    """
    asked = options.given(to=to, cap=cap, rate=rate, overlap=overlap)
    with connect() as client:
        if not dry_run and not yes:
            _ask(client.jobs.backfill(job_id, from_, **asked, dry_run=True))
        done = client.jobs.backfill(job_id, from_, **asked, dry_run=dry_run)
    if output is not Output.TABLE:
        print_data(done, output)
        return
    _print(done["items"])
    told = "would run" if dry_run else f"written, {done['new']} of them new"
    typer.echo(f"{done['count']} occurrences {told}.", err=True)


def _ask(plan: dict[str, Any]) -> None:
    """Show the plan, and end here unless somebody says yes."""
    if not plan["count"]:
        typer.echo("There are no occurrences in this range.", err=True)
        raise typer.Exit
    _print(plan["items"][:_SHOWN], err=True)
    if plan["count"] > _SHOWN:
        typer.echo(f"… and {plan['count'] - _SHOWN} more; the last starts at {plan['items'][-1]['due_at']}", err=True)
    confirm(f"Run {plan['count']} occurrences?")


def _print(items: list[dict[str, Any]], *, err: bool = False) -> None:
    print_table(
        ["SCHEDULED", "STARTS", "RUN", "NEW"],
        [(item["scheduled_at"], item["due_at"], item["run_id"], "yes" if item["new"] else "no") for item in items],
        uncut=["SCHEDULED", "STARTS", "RUN"],
        err=err,
    )
