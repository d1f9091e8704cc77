"""`dueline node …`. A noun of its own: `dueline worker` starts one."""

from __future__ import annotations

from typing import Annotated

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, confirm, counted, print_data, print_table, show
from dueline.cli.watching import watchable

app = typer.Typer()

NodeId = Annotated[str, typer.Argument(metavar="ID", help="The id of the process.")]


@app.command("list")
@watchable
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the processes, those that started first first.

    \b
    Example:
      dueline node list
    """
    with connect() as client:
        page = client.workers.list().page()
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["ID", "STATE", "ROLE", "HOST", "PID", "VERSION", "BUSY", "QUEUES", "LABELS", "TASKS", "STARTED", "BEAT"],
        [
            (
                *(node[name] for name in ("id", "state", "role", "host", "pid", "version")),
                f"{node['busy']}/{node['slots']}",
                " ".join(node["queues"]) or "all",
                " ".join(node["labels"]) or None,
                len(node["tasks"]) or None,
                node["started_at"],
                node["beat_at"],
            )
            for node in page["items"]
        ],
        uncut=["ID", "STATE"],
        spare=["TASKS", "LABELS", "VERSION", "STARTED", "QUEUES", "PID"],
        times=["STARTED", "BEAT"],
    )


@app.command()
@watchable
def get(node_id: NodeId, output: OutputOption = Output.TABLE) -> None:
    """Show a process.

    \b
    Example:
      dueline node get 3f9c1d0a8b7e65f4a210
    """
    with connect() as client:
        show(client.workers.get(node_id), output)


@app.command()
def drain(node_id: NodeId, yes: options.Yes = False, output: OutputOption = Output.TABLE) -> None:
    """Ask a process to end in order: it gives back what it has not started and ends what it has. Asks first.

    \b
    Example:
      dueline node drain 3f9c1d0a8b7e65f4a210
    """
    with connect() as client:
        if not yes:
            node = client.workers.get(node_id)
            confirm(
                f"Drain the process {node_id} ({node['role']} on {node['host']}, pid {node['pid']}, which is {node['state']} with "
                f"{counted(node['busy'], 'run')} under way)? It ends once they have, and does not start again by itself."
            )
        show(client.workers.drain(node_id), output)
