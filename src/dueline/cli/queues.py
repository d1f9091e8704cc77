"""`dueline queue …`."""

from __future__ import annotations

from typing import Annotated

import typer

from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, print_json, print_table, show

app = typer.Typer(help="Queues: see what waits in them, pause and resume them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the queue.")]


@app.command("list")
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the queues that have live runs or are paused, by name.

    \b
    Example:
      dueline queue list
    """
    with connect() as client:
        queues = client.queues()
    if output is Output.JSON:
        print_json({"items": queues, "next_cursor": None})
        return
    print_table(
        ["NAME", "STATE", "READY", "RUNNING", "HELD", "WAITING", "OLDEST DUE", "NOTE"],
        [
            (
                queue["name"],
                "paused" if queue["paused"] else "active",
                *(queue[name] for name in ("ready", "running", "held", "waiting", "oldest_due_at", "note")),
            )
            for queue in queues
        ],
        uncut=["NAME"],
    )


@app.command()
def pause(
    name: Name,
    note: Annotated[str | None, typer.Option(help="Why, for whoever finds it paused.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start no more runs of a queue; those under way end by themselves.

    \b
    Example:
      dueline queue pause mail --note "the mail server is moving"
    """
    with connect() as client:
        show(client.pause_queue(name, note=note), output)


@app.command()
def resume(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Start runs of a paused queue again.

    \b
    Example:
      dueline queue resume mail
    """
    with connect() as client:
        show(client.resume_queue(name), output)
