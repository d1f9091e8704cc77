"""`dueline recovery …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_table

app = typer.Typer()

Policy = Annotated[
    str | None, typer.Option("--policy", help="fire_once, fire_all or skip for all. Default: each job's own.")
]
Rate = Annotated[float | None, typer.Option("--rate", help="Missed runs a second. Default: 100.")]


@app.command()
def plan(policy: Policy = None, rate: Rate = None, output: OutputOption = Output.TABLE) -> None:
    """Show what is overdue and what would become of it, without doing anything.

    \b
    Example:
      dueline recovery plan --policy skip
    """
    with connect() as client:
        found = client.recovery.plan(policy=policy, rate=rate)
    if output is not Output.TABLE:
        print_data(found, output)
    else:
        _print(found)


@app.command()
def apply(
    policy: Policy = None, rate: Rate = None, yes: options.Yes = False, output: OutputOption = Output.TABLE
) -> None:
    """Decide what is overdue, by one policy and at one pace. Shows the plan and asks first.

    \b
    Example:
      dueline recovery apply --policy fire_once --rate 20
    """
    with connect() as client:
        if not yes:
            _ask(client.recovery.plan(policy=policy, rate=rate))
        done = client.recovery.apply(policy=policy, rate=rate)
    if output is not Output.TABLE:
        print_data(done, output)
    else:
        _print(done)


def _ask(found: dict[str, Any]) -> None:
    """Show the plan, and end here unless somebody says yes."""
    _print(found, err=True)
    if not found["overdue_jobs"] and not found["waiting"]:
        raise typer.Exit
    confirm("Do it?")


def _print(found: dict[str, Any], *, err: bool = False) -> None:
    if found["jobs"]:
        print_table(
            ["JOB", "NAME", "POLICY", "OVERDUE SINCE", "RUN", "COALESCE", "SKIP", "WAITING"],
            [_row(job) for job in found["jobs"]],
            uncut=["JOB"],
            times=["OVERDUE SINCE"],
            err=err,
        )
    elif not found["overdue_jobs"]:
        typer.echo("Nothing is overdue.", err=True)
        return
    jobs = f"{found['overdue_jobs']} overdue jobs, {found['runs']} runs to start and {found['waiting']} waiting"
    typer.echo(f"{jobs}; at {found['rate']:g} a second the last starts at {found['drained_at']}.", err=True)
    if not found["complete"]:
        typer.echo("There is more than could be looked at: apply it, then look again.", err=True)


def _row(job: dict[str, Any]) -> list[Any]:
    skipped = f"{job['skip']}+" if job["more"] else job["skip"]
    return [
        *(job[name] for name in ("job_id", "name", "policy", "overdue_since", "run", "coalesce")),
        skipped,
        job["waiting"],
    ]
