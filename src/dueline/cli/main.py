"""The command `dueline`, assembled: one file a noun, and `roles` for the commands that start a process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dueline import __version__
from dueline.cli.arguments import rearranged
from dueline.cli.later import Later
from dueline.cli.nouns import Commands
from dueline.domain.errors import DuelineError

if TYPE_CHECKING:
    from dueline.cli import connecting, exits, naming
else:
    connecting, exits, naming = (Later(f"dueline.cli.{name}") for name in ("connecting", "exits", "naming"))

app = typer.Typer(
    name="dueline",
    cls=Commands,
    help="Dueline, a job scheduler. Start with: dueline serve",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


def _propose_profiles(incomplete: str) -> list[str]:
    return naming.propose_profiles(incomplete)


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
            autocompletion=_propose_profiles,
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
    api_key = None if api_key_file is None else connecting.read_key(api_key_file)
    connecting.choose(connecting.Choice(profile, server, api_key))


@app.command()
def version() -> None:
    """Show the version."""
    typer.echo(__version__)


def main(args: Sequence[str] | None = None) -> None:
    """Run a command and exit: 0 done, 1 failed, 2 bad input, 3 not found, 4 conflict, 5 unreachable, 6 there are changes."""
    try:
        app(rearranged(sys.argv[1:] if args is None else args), prog_name="dueline")
    except DuelineError as error:
        sys.exit(exits.report(error))
