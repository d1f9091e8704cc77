"""`dueline job …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import backfills, occurrences, options, upcoming, versions
from dueline.cli.bulk import create_many
from dueline.cli.connecting import connect, read_page
from dueline.cli.job_options import Written, job_options
from dueline.cli.jobtypes import tell_of_task
from dueline.cli.options import JobId
from dueline.cli.output import (
    Output,
    OutputOption,
    confirm,
    print_data,
    print_page,
    print_table,
    schedule_line,
    show,
    show_bulk,
    target_line,
)
from dueline.cli.watching import watchable

app = typer.Typer()


@app.command()
@job_options
def create(
    asked: Written,
    paused: Annotated[bool, typer.Option("--paused", help="It begins paused.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a job. Without a schedule it runs only when asked. A file may hold many: {"jobs": […]}.

    \b
    Examples:
      dueline job create --url http://127.0.0.1:8701/ --in 2s
      dueline job create --url https://example.com/report --schedule "every weekday at 9:00" --timezone Europe/Berlin
      dueline job create --url https://example.com/close --cron "0 18 L * *" --calendar holidays --on-excluded before
      dueline job create --url https://example.com/sync --every 15m --body '{"full": false}' --name sync
      dueline job create --task report --arg day=2026-03-29 --cron "0 6 * * *"
      dueline job create -f job.json
    """
    written = asked.whole()
    with connect() as client:
        if "jobs" in written:
            if paused:
                raise typer.BadParameter("is for one job: say state in the file", param_hint="--paused")
            show_bulk(create_many(client, "jobs", written), "job", output)
            return
        job = client.jobs.create(written, paused=paused)
        tell_of_task(client, job["target"])
    show(job, output)


@app.command("list")
@watchable
def list_(
    state: Annotated[str | None, typer.Option(help="active, paused, finished or cancelled.")] = None,
    queue: Annotated[str | None, typer.Option(help="Jobs of a queue.")] = None,
    tag: Annotated[str | None, typer.Option(help="Jobs with a tag.")] = None,
    target_type: Annotated[str | None, typer.Option(help="Jobs with a type of target: http or task.")] = None,
    job_type: Annotated[str | None, typer.Option(help="Jobs that carry out a task, by its name.")] = None,
    name_prefix: Annotated[str | None, typer.Option(help="Jobs whose names begin so.")] = None,
    search: Annotated[
        str | None, typer.Option("--search", help="Jobs with words that begin so in their names, tags, URLs or tasks.")
    ] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List jobs, newest first.

    \b
    Examples:
      dueline job list --state paused
      dueline job list --search "report example.com"
      dueline job list --all --output json
    """
    filters = {
        "state": state,
        "queue": queue,
        "tag": tag,
        "target_type": target_type,
        "job_type": job_type,
        "name_prefix": name_prefix,
        "q": search,
    }
    with connect() as client:
        page = read_page(client.jobs.list, limit=limit, cursor=cursor, everything=all_, **filters)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["ID", "NAME", "STATE", "SCHEDULE", "NEXT DUE", "QUEUE", "TARGET"],
        [
            (
                *(job[name] for name in ("id", "name", "state")),
                schedule_line(job["schedule"]),
                job["next_due_at"],
                job["queue"],
                target_line(job["target"]),
            )
            for job in page["items"]
        ],
        uncut=["ID", "STATE"],
        spare=["QUEUE", "TARGET", "SCHEDULE"],
        times=["NEXT DUE"],
    )
    print_page(page)


@app.command()
@watchable
def get(job_id: JobId, output: OutputOption = Output.TABLE) -> None:
    """Show a job.

    \b
    Example:
      dueline job get job_01h455vb4pex5vsknk084sn02q --output json
    """
    with connect() as client:
        show(client.jobs.get(job_id), output)


@app.command()
@watchable
def why(job_id: JobId, output: OutputOption = Output.TABLE) -> None:
    """Tell why a job does not run now, when it runs next, and how its last runs fared.

    \b
    Example:
      dueline job why nightly-report
    """
    with connect() as client:
        show(client.jobs.why(job_id), output)


@app.command()
@job_options
def put(
    job_name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the job.")],
    asked: Written,
    create_only: Annotated[bool, typer.Option("--create-only", help="Replace none that is there.")] = False,
    if_version: options.IfVersion = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the job as it would be.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Write the job that has a name, new or in place of the one that is there; what is not given goes back to its default.

    \b
    Examples:
      dueline job put sync --url https://example.com/sync --every 15m
      dueline job put sync -f job.json --create-only
    """
    with connect() as client:
        job = client.jobs.put_named(
            job_name, asked.whole(), create_only=create_only, if_version=if_version, dry_run=dry_run
        )
        tell_of_task(client, job["target"])
    show(job, output)


@app.command()
@job_options
def edit(
    job_id: JobId, asked: Written, if_version: options.IfVersion = None, output: OutputOption = Output.TABLE
) -> None:
    """Change some of a job; what is not given stays. A schedule of any kind replaces the one that is there.

    A file holds a JSON merge patch.

    \b
    Examples:
      dueline job edit job_01h455vb4pex5vsknk084sn02q --every 5m
      dueline job edit job_01h455vb4pex5vsknk084sn02q --jitter 30s
      dueline job edit job_01h455vb4pex5vsknk084sn02q --queue reports --if-version 3
    """
    with connect() as client:
        job = client.jobs.patch(job_id, asked.patch(), if_version=if_version)
        if "target" in asked.whole():
            tell_of_task(client, job["target"])
    show(job, output)


@app.command()
def pause(
    job_id: JobId,
    note: Annotated[str | None, typer.Option(help="Why, for whoever finds it paused.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Pause a job: nothing more of it starts, what runs ends by itself.

    \b
    Example:
      dueline job pause job_01h455vb4pex5vsknk084sn02q --note "target is moving"
    """
    with connect() as client:
        show(client.jobs.pause(job_id, note=note), output)


@app.command()
def resume(job_id: JobId, output: OutputOption = Output.TABLE) -> None:
    """Resume a paused job; what was missed follows its misfire policy.

    \b
    Example:
      dueline job resume job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        show(client.jobs.resume(job_id), output)


@app.command()
def run(
    job_id: JobId,
    force: Annotated[
        bool, typer.Option("--force", help="Also beside other runs of the job, whatever its limits.")
    ] = False,
    dedupe_key: options.DedupeKey = None,
    dedupe_window: options.DedupeWindow = None,
    dedupe_state: options.DedupeStates = None,
    on_conflict: options.OnConflict = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a job now, also while it is paused; its schedule does not move.

    \b
    Examples:
      dueline job run job_01h455vb4pex5vsknk084sn02q
      dueline job run job_01h455vb4pex5vsknk084sn02q --dedupe-key today --dedupe-window 1d --on-conflict ignore
    """
    with connect() as client:
        dedupe = options.dedupe_of(dedupe_key, dedupe_window, dedupe_state, on_conflict)
        show(client.jobs.run(job_id, force=force, **dedupe), output)


@app.command()
def cancel(
    job_id: JobId,
    note: Annotated[str | None, typer.Option(help="Why, for whoever finds it cancelled.")] = None,
    cancel_running: Annotated[
        bool, typer.Option("--cancel-running", help="Also stop its runs that are under way.")
    ] = False,
    if_version: options.IfVersion = None,
    yes: options.Yes = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Cancel a job for good: unstarted runs are cancelled, running ones end by themselves, and it stays to be seen. Asks first.

    \b
    Example:
      dueline job cancel job_01h455vb4pex5vsknk084sn02q --note "the shop is closed"
    """
    with connect() as client:
        if not yes:
            running = "those under way are stopped" if cancel_running else "those under way end by themselves"
            confirm(
                f"Cancel the job {_in_words(client.jobs.get(job_id))}? That is final. Its unstarted runs are cancelled; {running}."
            )
        job = client.jobs.cancel(job_id, note=note, cancel_running=cancel_running, if_version=if_version)
    show(job, output)


@app.command()
def delete(job_id: JobId, if_version: options.IfVersion = None, yes: options.Yes = False) -> None:
    """Delete a job: unstarted runs are cancelled, running ones end, its history stays. Asks first.

    \b
    Example:
      dueline job delete job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        if not yes:
            confirm(
                f"Delete the job {_in_words(client.jobs.get(job_id))}? Its unstarted runs are cancelled; its history stays."
            )
        client.jobs.delete(job_id, if_version=if_version)
    typer.echo(f"Deleted {job_id}.", err=True)


versions.register(app)
upcoming.register_job(app)
occurrences.register(app)
backfills.register(app)


def _in_words(job: Any) -> str:
    """A job, for whoever is asked about it."""
    when = schedule_line(job["schedule"]) or "without a schedule"
    return f"{job['name'] or job['id']} ({job['id']}, {when}, {target_line(job['target'])})"
