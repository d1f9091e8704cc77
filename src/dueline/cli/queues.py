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
    """List the queues that have live runs, are paused or are named by a worker, by name.

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
        ["NAME", "STATE", "READY", "RUNNING", "HELD", "WAITING", "OLDEST", "RATE", "WORKERS", "BUSY", "NOTE"],
        [
            (
                queue["name"],
                "paused" if queue["paused"] else "active",
                *(queue[name] for name in ("ready", "running", "held", "waiting")),
                None if queue["oldest_age_s"] is None else f"{queue['oldest_age_s']:.1f} s",
                f"{queue['rate']:.1f}/s",
                queue["workers"],
                f"{queue['busy']}/{queue['slots']}",
                queue["note"],
            )
            for queue in queues
        ],
        uncut=["NAME"],
    )


@app.command()
def get(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show a queue with what there is to serve it.

    \b
    Example:
      dueline queue get mail
    """
    with connect() as client:
        show(client.queue(name), output)


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
