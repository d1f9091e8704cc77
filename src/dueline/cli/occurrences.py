"""`dueline job occurrences`, `skip`, `move` and `restore`: the due instants of a job, one by one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.options import JobId
from dueline.cli.output import Output, OutputOption, print_data, print_page, print_table, show
from dueline.cli.watching import watchable

At = Annotated[str, typer.Option("--at", help="The RFC 3339 time at which the schedule has it.")]


def register(app: typer.Typer) -> None:
    """Add the commands to those of jobs."""
    app.command()(watchable(occurrences))
    app.command()(skip)
    app.command()(move)
    app.command()(restore)


def occurrences(
    job_id: JobId,
    from_: Annotated[str | None, typer.Option("--from", help="From this RFC 3339 time on. Default: a day ago.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Before this RFC 3339 time. Default: on and on.")] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List what became of a job's occurrences, and what comes, earliest first.

    \b
    Examples:
      dueline job occurrences job_01h455vb4pex5vsknk084sn02q
      dueline job occurrences job_01h455vb4pex5vsknk084sn02q --from 2026-03-28T00:00:00Z --to 2026-03-30T00:00:00Z
    """
    with connect() as client:
        page = client.jobs.occurrences(job_id, from_=from_, to=to, page_size=limit).page(cursor)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["SCHEDULED", "VERDICT", "REASON", "STARTED", "STATE", "RUN", "VERSION"],
        [_row(one) for one in page["items"]],
        uncut=["SCHEDULED", "VERDICT"],
        spare=["VERSION"],
        times=["STARTED"],
    )
    print_page(page, everything=False)


def skip(job_id: JobId, at: At, output: OutputOption = Output.TABLE) -> None:
    """Leave out one coming occurrence.

    \b
    Example:
      dueline job skip job_01h455vb4pex5vsknk084sn02q --at 2026-12-24T09:00:00Z
    """
    with connect() as client:
        show(client.jobs.skip(job_id, at), output)


def move(
    job_id: JobId,
    at: At,
    to: Annotated[str, typer.Option("--to", help="The RFC 3339 time at which it comes instead.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Move one coming occurrence to another time.

    \b
    Example:
      dueline job move job_01h455vb4pex5vsknk084sn02q --at 2026-12-24T09:00:00Z --to 2026-12-23T09:00:00Z
    """
    with connect() as client:
        show(client.jobs.move(job_id, at, to), output)


def restore(job_id: JobId, at: At, output: OutputOption = Output.TABLE) -> None:
    """Put back one coming occurrence that was left out or moved.

    \b
    Example:
      dueline job restore job_01h455vb4pex5vsknk084sn02q --at 2026-12-24T09:00:00Z
    """
    with connect() as client:
        show(client.jobs.restore(job_id, at), output)


def _row(one: dict[str, Any]) -> list[Any]:
    return [one[name] for name in ("scheduled_at", "verdict", "reason", "started_at", "state", "run_id", "version")]
