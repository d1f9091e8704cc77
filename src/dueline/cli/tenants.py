"""`dueline tenant …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.output import Output, OutputOption, print_data, print_page, print_table, show
from dueline.cli.watching import watchable
from dueline.domain.errors import Invalid

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the tenant.")]
_NONE = "none"


@app.command("list")
@watchable
def list_(
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the tenants that something was set for, by name.

    \b
    Example:
      dueline tenant list
    """
    with connect() as client:
        page = read_page(client.tenants.list, limit=limit, cursor=cursor, everything=all_)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["NAME", "WEIGHT", "JOBS", "RUNNING", "RUNS/S", "RUN NOW/MIN", "PAYLOAD", "BACKFILL", "DAYS"],
        [
            (
                one["name"],
                one["weight"],
                *(_of(one, name) for name in ("jobs", "running")),
                one["quotas"]["runs_per_second"],
                _of(one, "run_now_per_minute"),
                *(one["quotas"][name] for name in ("payload_bytes", "backfill_runs", "retention_days")),
            )
            for one in page["items"]
        ],
        uncut=["NAME"],
    )
    print_page(page)


@app.command()
@watchable
def get(name: Name, output: OutputOption = Output.TABLE) -> None:
    """Show what is set for a tenant, and what it has.

    \b
    Example:
      dueline tenant get acme
    """
    with connect() as client:
        show(client.tenants.get(name), output)


@app.command("set")
def set_(
    name: Name,
    weight: Annotated[float | None, typer.Option(help="Its share of every queue, against the others'.")] = None,
    jobs: Annotated[str | None, typer.Option(help="Jobs that it may have, or none for no bound.")] = None,
    running: Annotated[str | None, typer.Option(help="Runs that may be under way at a time, or none.")] = None,
    runs_per_second: Annotated[str | None, typer.Option(help="Runs that may start in a second, or none.")] = None,
    payload_bytes: Annotated[str | None, typer.Option(help="Bytes of one payload, or none.")] = None,
    run_now_per_minute: Annotated[
        str | None, typer.Option(help="Runs that may be asked for in a minute, or none.")
    ] = None,
    backfill_runs: Annotated[str | None, typer.Option(help="Runs of one backfill, or none.")] = None,
    retention_days: Annotated[str | None, typer.Option(help="Days that finished runs are kept, or none.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Set some of a tenant's weight and quotas; the others stay as they are. It is in effect everywhere within 5 seconds.

    \b
    Examples:
      dueline tenant set acme --weight 2 --jobs 1000 --running 50
      dueline tenant set acme --running none
    """
    asked = options.given(
        jobs=jobs,
        running=running,
        runs_per_second=runs_per_second,
        payload_bytes=payload_bytes,
        run_now_per_minute=run_now_per_minute,
        backfill_runs=backfill_runs,
        retention_days=retention_days,
    )
    patch = options.given(weight=weight, quotas={quota: _number(quota, text) for quota, text in asked.items()} or None)
    with connect() as client:
        show(client.tenants.patch(name, **patch), output)


def _number(quota: str, text: str) -> int | None:
    if text == _NONE:
        return None
    try:
        return int(text)
    except ValueError:
        raise Invalid((f"--{quota.replace('_', '-')}", f"must be a whole number, or {_NONE}")) from None


def _of(tenant: dict[str, Any], quota: str) -> str | None:
    """How much of a quota is used: `3 of 10`, or how much there is where nothing bounds it."""
    used, most = tenant["used"][quota], tenant["quotas"][quota]
    if used is None:
        return None
    return str(used) if most is None else f"{used} of {most}"
