"""The command `dueline`, assembled: one file a noun, and `roles` for the commands that start a process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from dueline import __version__
from dueline.cli import (
    applying,
    audits,
    backfills,
    calendars,
    completing,
    db,
    deadletters,
    doctor,
    events,
    exporting,
    forecasts,
    jobs,
    jobtypes,
    keys,
    limits,
    moving,
    nodes,
    occurrences,
    profiles,
    queues,
    recoveries,
    roles,
    runs,
    schedules,
    secrets,
    settings,
    tenants,
    top,
    upcoming,
    versions,
)
from dueline.cli.arguments import rearranged
from dueline.cli.connecting import Choice, choose, read_key
from dueline.cli.exits import TOLD, report
from dueline.cli.naming import propose_profiles

app = typer.Typer(
    name="dueline",
    help="Dueline, a job scheduler. Start with: dueline serve",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
roles.register(app)
versions.register(jobs.app)
upcoming.register_job(jobs.app)
occurrences.register(jobs.app)
backfills.register(jobs.app)
app.add_typer(jobs.app, name="job")
app.add_typer(runs.app, name="run")
app.add_typer(deadletters.app, name="deadletter")
app.add_typer(events.app, name="event")
app.add_typer(queues.app, name="queue")
app.add_typer(limits.app, name="limit")
app.add_typer(tenants.app, name="tenant")
app.add_typer(nodes.app, name="node")
app.add_typer(jobtypes.app, name="jobtype")
app.add_typer(secrets.app, name="secret")
app.add_typer(keys.app, name="key")
app.add_typer(schedules.app, name="schedule")
app.add_typer(calendars.app, name="calendar")
applying.register(app)
exporting.register(app)
app.add_typer(moving.app, name="import")
audits.register(app)
app.add_typer(recoveries.app, name="recovery")
upcoming.register(app)
forecasts.register(app)
doctor.register(app)
top.register(app)
app.add_typer(db.app, name="db")
app.add_typer(settings.app, name="config")
app.add_typer(profiles.app, name="profile")
completing.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def dueline(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True)
    ] = False,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            metavar="NAME",
            help="The profile to use; it may stand anywhere [DUELINE_PROFILE]",
            autocompletion=propose_profiles,
        ),
    ] = None,
    server: Annotated[
        str | None, typer.Option("--server", metavar="URL", help="The server to talk to [DUELINE_URL]")
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option("--api-key-file", metavar="FILE", help="A file with the API key, - for stdin [DUELINE_API_KEY]"),
    ] = None,
) -> None:
    """Dueline, a job scheduler. Start with: dueline serve"""
    choose(Choice(profile, server, None if api_key_file is None else read_key(api_key_file)))


@app.command()
def version() -> None:
    """Show the version."""
    typer.echo(__version__)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 bad input, 3 not found, 4 conflict, 5 unreachable, 6 there are changes."""
    try:
        app(rearranged(sys.argv[1:] if args is None else args), prog_name="dueline")
    except TOLD as error:
        sys.exit(report(error))
