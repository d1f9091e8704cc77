"""`dueline upcoming` and `dueline job upcoming`: what comes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.options import JobId
from dueline.cli.output import Output, OutputOption, print_data, print_page, print_table
from dueline.cli.watching import watchable


def register(app: typer.Typer) -> None:
    app.command()(watchable(upcoming))


def register_job(app: typer.Typer) -> None:
    """Add the command of one job to those of jobs."""
    app.command("upcoming")(watchable(job_upcoming))


def upcoming(
    from_: Annotated[str | None, typer.Option("--from", help="From this RFC 3339 time on. Default: now.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Before this RFC 3339 time. Default: a day later.")] = None,
    queue: Annotated[str | None, typer.Option(help="Of jobs of a queue.")] = None,
    tag: Annotated[str | None, typer.Option(help="Of jobs with a tag.")] = None,
    target_type: Annotated[str | None, typer.Option(help="Of jobs with a type of target: http or task.")] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List what comes between two instants, of all active jobs, earliest first.

    \b
    Examples:
      dueline upcoming
      dueline upcoming --from 2026-12-24T00:00:00Z --to 2026-12-27T00:00:00Z --queue reports
    """
    filters = {"from_": from_, "to": to, "queue": queue, "tag": tag, "target_type": target_type}
    with connect() as client:
        page = read_page(client.upcoming.list, limit=limit, cursor=cursor, everything=all_, **filters)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["SCHEDULED", "LOCAL", "JOB", "ID", "NOTE"],
        [(*_times(one), one["job_name"], one["job_id"], one["note"]) for one in page["items"]],
        uncut=["SCHEDULED", "ID"],
    )
    print_page(page)


def job_upcoming(
    job_id: JobId,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the next occurrences of a job; of a paused one, those that would come if it were resumed now.

    \b
    Example:
      dueline job upcoming nightly-report --limit 5
    """
    with connect() as client:
        page = client.jobs.coming(job_id, page_size=limit).page(cursor)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["SCHEDULED", "LOCAL", "DUE", "NOTE"],
        [(*_times(one), one["due_at"], one["note"]) for one in page["items"]],
        uncut=["SCHEDULED"],
    )
    print_page(page, everything=False)


def _times(one: Any) -> tuple[Any, Any]:
    return one["scheduled_at"], one["local"]
