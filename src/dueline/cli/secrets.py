"""`dueline secret …`."""

from __future__ import annotations

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, confirm, show

app = typer.Typer()


@app.command("show")
def show_(output: OutputOption = Output.TABLE) -> None:
    """Tell whether there is a secret, and since when. The secret itself is not shown.

    \b
    Example:
      dueline secret show
    """
    with connect() as client:
        show(client.signing_secret.get(), output)


@app.command()
def rotate(yes: options.Yes = False, output: OutputOption = Output.TABLE) -> None:
    """Make a secret, the first or a new one, and show it this once. For a day calls are signed with the one before as well.

    \b
    Example:
      dueline secret rotate
    """
    with connect() as client:
        if not yes and (now := client.signing_secret.get())["set"]:
            confirm(f"There is a secret since {now['rotated_at']}. Make a new one?")
        show(client.signing_secret.rotate(), output)
    typer.echo("Keep it: it is not shown again.", err=True)
