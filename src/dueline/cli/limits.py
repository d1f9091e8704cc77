"""`dueline limit …`."""

from __future__ import annotations

from typing import Annotated

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_page, print_table, show
from dueline.cli.watching import watchable

app = typer.Typer()

Scope = Annotated[str, typer.Argument(metavar="SCOPE", help="queue or host.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The queue, or the host as it stands in URLs.")]


@app.command("list")
@watchable
def list_(
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the limits of hosts and queues, by name.

    \b
    Example:
      dueline limit list
    """
    with connect() as client:
        page = read_page(client.limits.list, limit=limit, cursor=cursor, everything=all_)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["SCOPE", "NAME", "CONCURRENCY", "RATE", "BURST", "RUNNING", "UPDATED"],
        [
            (
                one["scope"],
                one["name"],
                one["concurrency"],
                one["rate"] and f"{one['rate']['limit']}/{one['rate']['per']}",
                one["rate"] and one["rate"]["burst"],
                one["running"],
                one["updated_at"],
            )
            for one in page["items"]
        ],
        uncut=["NAME"],
        times=["UPDATED"],
    )
    print_page(page)


@app.command()
@watchable
def get(scope: Scope, name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show the limit of a queue or a host, and how many runs have a place there.

    \b
    Example:
      dueline limit get queue mail
    """
    with connect() as client:
        show(client.limits.get(scope, name), output)


@app.command("set")
def set_(
    scope: Scope,
    name: Name,
    concurrency: options.Concurrency = None,
    rate: options.Rate = None,
    rate_burst: options.RateBurst = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set the limit of a queue or a host; what is not given has no bound. Workers keep to it within five seconds.

    \b
    Examples:
      dueline limit set queue mail --rate 100/1m
      dueline limit set host api.example.com --concurrency 10
    """
    asked = options.given(concurrency=concurrency, **options.rate_of(rate, rate_burst))
    with connect() as client:
        show(client.limits.put(scope, name, **asked), output)


@app.command()
def delete(scope: Scope, name: Name, yes: options.Yes = False) -> None:
    """Take the limit of a queue or a host away. Asks first.

    \b
    Example:
      dueline limit delete host api.example.com
    """
    with connect() as client:
        if not yes:
            found = client.limits.get(scope, name)
            most = found["concurrency"] or "any number"
            rate = found["rate"] and f"{found['rate']['limit']} in {found['rate']['per']}"
            confirm(
                f"Take away the limit of {scope} {name}? It lets {most} be under way at once, "
                f"and {rate or 'any number'} start."
            )
        client.limits.delete(scope, name)
    typer.echo(f"Deleted the limit of {scope} {name}.", err=True)
