"""`dueline queue …`."""

from __future__ import annotations

from typing import Annotated

import typer

from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, print_data, print_table, show
from dueline.cli.watching import watchable

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the queue.")]


@app.command("list")
@watchable
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the queues that have live runs, are paused or are named by a worker, by name.

    \b
    Example:
      dueline queue list
    """
    with connect() as client:
        page = client.queues.list().page()
    if output is not Output.TABLE:
        print_data(page, output)
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
            for queue in page["items"]
        ],
        uncut=["NAME"],
        spare=["RATE", "BUSY", "HELD", "WAITING", "WORKERS"],
        wraps="NOTE",
    )


@app.command()
@watchable
def shares(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show who shares a queue: entitled to what, got what in the last minute, and delayed by whom.

    \b
    Example:
      dueline queue shares mail
    """
    with connect() as client:
        found = client.queues.shares(name)
    if output is not Output.TABLE:
        print_data(found, output)
        return
    print_table(
        ["TENANT", "WEIGHT", "READY", "OLDEST", "RATE", "USED", "ENTITLED", "DELAYED BY"],
        [
            (
                share["tenant"],
                f"{share['weight']:g}",
                share["ready"],
                None if share["oldest_age_s"] is None else f"{share['oldest_age_s']:.1f} s",
                f"{share['rate']:.1f}/s",
                None if share["used_share"] is None else f"{share['used_share']:.0%}",
                f"{share['entitled_share']:.0%}",
                ", ".join(f"{tenant} {part:.0%}" for tenant, part in share["delayed_by"].items()) or None,
            )
            for share in found["items"]
        ],
        uncut=["TENANT"],
    )


@app.command()
@watchable
def get(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show a queue with what there is to serve it.

    \b
    Example:
      dueline queue get mail
    """
    with connect() as client:
        show(client.queues.get(name), output)


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
        show(client.queues.pause(name, note=note), output)


@app.command()
def resume(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Start runs of a paused queue again.

    \b
    Example:
      dueline queue resume mail
    """
    with connect() as client:
        show(client.queues.resume(name), output)
