"""`dueline config …`."""

from __future__ import annotations

import typer

from dueline.cli.connecting import client_settings
from dueline.cli.output import Output, OutputOption, print_data, print_table
from dueline.config import names, shown

app = typer.Typer()


@app.command()
def show(output: OutputOption = Output.TABLE) -> None:
    """Show every setting, and where its value came from. Secrets are not shown.

    \b
    Example:
      dueline config show
    """
    loaded = client_settings()
    rows = [(name, shown(loaded, name), loaded.origins[name]) for name in names()]
    if output is not Output.TABLE:
        print_data({name: {"value": value, "origin": origin} for name, value, origin in rows}, output)
    else:
        print_table(["SETTING", "VALUE", "FROM"], rows)
