"""`dueline run …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.bulk import create_many
from dueline.cli.connecting import connect, read_page
from dueline.cli.events import NOT_WAITING, print_told, tell
from dueline.cli.job_options import Written, run_options
from dueline.cli.jobtypes import tell_of_task
from dueline.cli.output import (
    Output,
    OutputOption,
    confirm,
    job_label,
    print_data,
    print_page,
    print_record,
    print_table,
    show,
    show_bulk,
)
from dueline.cli.watching import watchable

app = typer.Typer()

RunId = Annotated[str, typer.Argument(metavar="ID", help="The id of the run.")]


@app.command("list")
@watchable
def list_(
    job: options.OfJob = None,
    state: Annotated[str | None, typer.Option(help="ready, running, succeeded, failed, …")] = None,
    kind: Annotated[str | None, typer.Option(help="scheduled, manual, adhoc, backfill or redrive.")] = None,
    tag: Annotated[str | None, typer.Option(help="Runs with a tag.")] = None,
    queue: Annotated[str | None, typer.Option(help="Runs of a queue.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="Runs with words that begin so in their errors or their jobs' names.")
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Scheduled at this RFC 3339 time or later.")] = None,
    to: Annotated[str | None, typer.Option(help="Scheduled before this RFC 3339 time.")] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List runs, latest scheduled first.

    \b
    Examples:
      dueline run list --state failed
      dueline run list --search "report timed out"
      dueline run list --job job_01h455vb4pex5vsknk084sn02q --from 2026-03-29T00:00:00Z --output json
    """
    filters = {
        "job_id": job,
        "state": state,
        "kind": kind,
        "tag": tag,
        "queue": queue,
        "q": search,
        "from_": from_,
        "to": to,
    }
    with connect() as client:
        page = read_page(client.runs.list, limit=limit, cursor=cursor, everything=all_, **filters)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["ID", "STATE", "KIND", "DUE", "FINISHED", "ATTEMPT", "JOB", "ERROR"],
        [
            (
                run["id"],
                run["state"],
                run["kind"],
                run["due_at"],
                run["finished_at"],
                run["attempt"],
                job_label(run),
                run["error"] or run["reason"],
            )
            for run in page["items"]
        ],
        uncut=["ID", "STATE"],
        spare=["KIND", "ATTEMPT", "FINISHED"],
        times=["DUE", "FINISHED"],
        wraps="ERROR",
    )
    print_page(page)


@app.command()
@watchable
def get(run_id: RunId, output: OutputOption = Output.TABLE) -> None:
    """Show a run with its attempts, and how far it is while it runs.

    \b
    Example:
      dueline run get run_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        run = client.runs.get(run_id)
    if output is not Output.TABLE:
        print_data(run, output)
    else:
        print_run(run)


@app.command()
def events(
    run_id: RunId,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until the run has ended, or Ctrl-C.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell the story of a run: when it was written, each attempt with its outcome, and how it ended, a line each.

    \b
    Examples:
      dueline run events run_01h455vb4pex5vsknk084sn02q
      dueline run events run_01h455vb4pex5vsknk084sn02q --follow
    """
    with connect() as client:
        if follow:
            tell(client.runs.events(run_id), None, output, resumable=False)
            return
        for event in client.runs.events(run_id, wait=NOT_WAITING).page()["items"]:
            print_told(event, output)


@app.command()
@watchable
def why(run_id: RunId, output: OutputOption = Output.TABLE) -> None:
    """Tell what a run waits for, at which place it stands, and when it may go on.

    \b
    Example:
      dueline run why run_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        show(client.runs.why(run_id), output)


@app.command()
def cancel(run_id: RunId, yes: options.Yes = False, output: OutputOption = Output.TABLE) -> None:
    """End a run. One that is under way stays running until its worker has ended it; its effect may have happened. Asks first.

    \b
    Example:
      dueline run cancel run_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        if not yes:
            run = client.runs.get(run_id)
            of = "without a job" if run["job_id"] is None else f"of {job_label(run)}"
            confirm(f"Cancel the run {run_id} {of}, which is {run['state']} and was due at {run['due_at']}?")
        show(client.runs.cancel(run_id), output)


@app.command()
def retry(
    run_id: RunId,
    latest: Annotated[bool, typer.Option("--latest", help="By the job's definition as it is now.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also a run that succeeded.")] = False,
    key: Annotated[
        str | None, typer.Option("--key", help="Names the wish: repeated, it makes no second run. Default: none.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Try a run again that has failed, expired or been cancelled, as a new run.

    \b
    Examples:
      dueline run retry run_01h455vb4pex5vsknk084sn02q
      dueline run retry run_01h455vb4pex5vsknk084sn02q --latest --force
    """
    version = "latest" if latest else None
    with connect() as client:
        show(client.runs.retry(run_id, version=version, key=key, force=force), output)


def print_run(run: dict[str, Any]) -> None:
    """A run, and a table of its attempts."""
    attempts = run.pop("attempts")
    print_record(run)
    if attempts:
        typer.echo()
        print_table(
            ["ATTEMPT", "OUTCOME", "STATUS", "STARTED", "FINISHED", "WORKER", "ERROR"],
            [
                [
                    attempt[name]
                    for name in ("attempt", "outcome", "status", "started_at", "finished_at", "worker", "error")
                ]
                for attempt in attempts
            ],
            uncut=["OUTCOME"],
            spare=["WORKER", "STATUS"],
            times=["STARTED", "FINISHED"],
            wraps="ERROR",
        )


@app.command()
@run_options
def create(asked: Written, output: OutputOption = Output.TABLE) -> None:
    """Run something without a job, at once or later. A file may hold many: {"runs": […]}.

    \b
    Examples:
      dueline run create --url http://127.0.0.1:8701/ --body hello
      dueline run create --url https://example.com/mail --in 10m --tag mail
      dueline run create --task report --arg day=2026-03-29 --arg recipients='["ada"]'
    """
    written = asked.whole()
    with connect() as client:
        if "runs" in written:
            show_bulk(create_many(client, "runs", written), "run", output)
            return
        created = client.runs.enqueue(written)
        tell_of_task(client, written.get("target"))
    show(created, output)
