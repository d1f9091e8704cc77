"""`dueline job versions`, `version`, `diff` and `rollback`: what a job was, and back to it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.options import JobId
from dueline.cli.output import (
    Output,
    OutputOption,
    print_data,
    print_page,
    print_record,
    print_table,
    schedule_line,
    show,
    target_line,
)

Version = Annotated[int, typer.Argument(metavar="VERSION", help="The number of the version.")]


def register(app: typer.Typer) -> None:
    """Add the commands to those of jobs."""
    app.command()(versions)
    app.command()(version)
    app.command()(diff)
    app.command()(rollback)


def versions(
    job_id: JobId,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the versions of a job, newest first.

    \b
    Example:
      dueline job versions job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        page = read_page(client.jobs.versions, limit=limit, cursor=cursor, everything=all_, job_id=job_id)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["VERSION", "CREATED", "NAME", "SCHEDULE", "QUEUE", "TARGET"],
        [_row(one) for one in page["items"]],
        spare=["QUEUE"],
        times=["CREATED"],
    )
    print_page(page)


def version(job_id: JobId, version: Version, output: OutputOption = Output.TABLE) -> None:
    """Show one version of a job.

    \b
    Example:
      dueline job version job_01h455vb4pex5vsknk084sn02q 3 --output json
    """
    with connect() as client:
        found = client.jobs.version(job_id, version)
    if output is not Output.TABLE:
        print_data(found, output)
        return
    definition = found.pop("definition")
    print_record({**found, **definition})


def diff(
    job_id: JobId,
    version: Version,
    against: Annotated[int | None, typer.Option("--against", help="Another version. Default: the one before.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what changed from another version of a job to this one, field by field.

    \b
    Examples:
      dueline job diff job_01h455vb4pex5vsknk084sn02q 3
      dueline job diff job_01h455vb4pex5vsknk084sn02q 5 --against 1
    """
    with connect() as client:
        found = client.jobs.diff(job_id, version, against=against)
    if output is not Output.TABLE:
        print_data(found, output)
        return
    rows = [(change["path"], change.get("before"), change.get("after")) for change in found["changes"]]
    print_table(["FIELD", f"VERSION {found['against']}", f"VERSION {found['version']}"], rows, uncut=["FIELD"])


def rollback(
    job_id: JobId,
    version: Version,
    if_version: options.IfVersion = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the job as it would be.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Give a job the definition of an earlier version, as a new one.

    \b
    Examples:
      dueline job rollback job_01h455vb4pex5vsknk084sn02q 3
      dueline job rollback job_01h455vb4pex5vsknk084sn02q 3 --if-version 5 --dry-run
    """
    with connect() as client:
        show(client.jobs.rollback(job_id, version, if_version=if_version, dry_run=dry_run), output)


def _row(one: dict[str, Any]) -> list[Any]:
    definition = one["definition"]
    return [
        f"{one['version']} (current)" if one["current"] else one["version"],
        one["created_at"],
        definition["name"],
        schedule_line(definition["schedule"]),
        definition["queue"],
        target_line(definition["target"]),
    ]
