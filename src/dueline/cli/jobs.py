"""`dueline job …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_object
from dueline.cli.output import Output, OutputOption, print_json, print_page, print_record, print_table

app = typer.Typer(help="Jobs: create, list, edit, pause, resume, run, delete.", no_args_is_help=True)

JobId = Annotated[str, typer.Argument(metavar="ID", help="The id of the job.")]
_SCHEDULE_KINDS = ("at", "cron", "every")
_COMPANIONS = ("timezone", "dst_gap", "dst_overlap", "start_at", "allow_past")


@app.command()
def create(
    file: options.FileOption = None,
    url: options.Url = None,
    method: options.Method = None,
    header: options.Headers = None,
    body: options.Body = None,
    at: options.At = None,
    in_: options.In = None,
    cron: options.Cron = None,
    every: options.Every = None,
    timezone: options.Timezone = None,
    dst_gap: options.DstGap = None,
    dst_overlap: options.DstOverlap = None,
    start_at: options.StartAt = None,
    allow_past: options.AllowPast = False,
    name: options.Name = None,
    queue: options.Queue = None,
    priority: options.Priority = None,
    region: options.Region = None,
    tag: options.Tags = None,
    retry_attempts: options.RetryAttempts = None,
    retry_backoff: options.RetryBackoff = None,
    retry_base: options.RetryBase = None,
    retry_cap: options.RetryCap = None,
    timeout: options.Timeout = None,
    overlap: options.Overlap = None,
    misfire: options.Misfire = None,
    delivery: options.Delivery = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a job. Without a schedule it runs only when asked.

    \b
    Examples:
      dueline job create --url http://127.0.0.1:8701/ --in 2s
      dueline job create --url https://example.com/report --cron "0 9 * * 1-5" --timezone Europe/Berlin
      dueline job create --url https://example.com/sync --every 15m --body '{"full": false}' --name sync
      dueline job create -f job.json
    """
    asked = {
        **options.target_of(url, method, header, body),
        **options.schedule_of(
            at,
            in_,
            cron,
            every,
            timezone=timezone,
            dst_gap=dst_gap,
            dst_overlap=dst_overlap,
            start_at=start_at,
            allow_past=allow_past or None,
        ),
        **options.retry_of(retry_attempts, retry_backoff, retry_base, retry_cap),
        **options.given(name=name, queue=queue, priority=priority, region=region, tags=tag, timeout=timeout),
        **options.given(overlap=overlap, misfire=misfire and {"policy": misfire}, delivery=delivery),
    }
    with connect() as client:
        _show(client.create_job(options.overlay(read_object(file), asked)), output)


@app.command("list")
def list_(
    state: Annotated[str | None, typer.Option(help="active, paused, finished or cancelled.")] = None,
    queue: Annotated[str | None, typer.Option(help="Jobs of a queue.")] = None,
    tag: Annotated[str | None, typer.Option(help="Jobs with a tag.")] = None,
    target_type: Annotated[str | None, typer.Option(help="Jobs with a type of target: http.")] = None,
    name_prefix: Annotated[str | None, typer.Option(help="Jobs whose names begin so.")] = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List jobs, newest first.

    \b
    Examples:
      dueline job list --state paused
      dueline job list --all --output json
    """
    filters = {"state": state, "queue": queue, "tag": tag, "target_type": target_type, "name_prefix": name_prefix}
    with connect() as client:
        if all_:
            page: dict[str, Any] = {"items": list(client.all_jobs(**filters, limit=limit or 500)), "next_cursor": None}
        else:
            page = client.jobs(**filters, limit=limit, cursor=cursor)
    if output is Output.JSON:
        print_json(page)
        return
    print_table(
        ["ID", "NAME", "STATE", "SCHEDULE", "NEXT DUE", "QUEUE"],
        [
            (job["id"], job["name"], job["state"], _schedule(job["schedule"]), job["next_due_at"], job["queue"])
            for job in page["items"]
        ],
        uncut=["ID", "STATE"],
    )
    print_page(page)


@app.command()
def get(job_id: JobId, output: OutputOption = Output.TABLE) -> None:
    """Show a job.

    \b
    Example:
      dueline job get job_01h455vb4pex5vsknk084sn02q --output json
    """
    with connect() as client:
        _show(client.job(job_id), output)


@app.command()
def edit(
    job_id: JobId,
    file: options.FileOption = None,
    url: options.Url = None,
    method: options.Method = None,
    header: options.Headers = None,
    body: options.Body = None,
    at: options.At = None,
    in_: options.In = None,
    cron: options.Cron = None,
    every: options.Every = None,
    timezone: options.Timezone = None,
    dst_gap: options.DstGap = None,
    dst_overlap: options.DstOverlap = None,
    start_at: options.StartAt = None,
    allow_past: options.AllowPast = False,
    name: options.Name = None,
    queue: options.Queue = None,
    priority: options.Priority = None,
    region: options.Region = None,
    tag: options.Tags = None,
    retry_attempts: options.RetryAttempts = None,
    retry_backoff: options.RetryBackoff = None,
    retry_base: options.RetryBase = None,
    retry_cap: options.RetryCap = None,
    timeout: options.Timeout = None,
    overlap: options.Overlap = None,
    misfire: options.Misfire = None,
    delivery: options.Delivery = None,
    if_version: options.IfVersion = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Change some of a job; what is not given stays. A file holds a JSON merge patch.

    \b
    Examples:
      dueline job edit job_01h455vb4pex5vsknk084sn02q --every 5m
      dueline job edit job_01h455vb4pex5vsknk084sn02q --queue reports --if-version 3
    """
    schedule = options.schedule_of(
        at,
        in_,
        cron,
        every,
        timezone=timezone,
        dst_gap=dst_gap,
        dst_overlap=dst_overlap,
        start_at=start_at,
        allow_past=allow_past or None,
    )
    patch = {
        **options.target_of(url, method, header, body),
        **_replacing(schedule),
        **options.retry_of(retry_attempts, retry_backoff, retry_base, retry_cap),
        **options.given(name=name, queue=queue, priority=priority, region=region, tags=tag, timeout=timeout),
        **options.given(overlap=overlap, misfire=misfire and {"policy": misfire}, delivery=delivery),
    }
    with connect() as client:
        _show(client.edit_job(job_id, options.overlay(read_object(file), patch), if_version=if_version), output)


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
        _show(client.pause_job(job_id, note=note), output)


@app.command()
def resume(job_id: JobId, output: OutputOption = Output.TABLE) -> None:
    """Resume a paused job; what was missed follows its misfire policy.

    \b
    Example:
      dueline job resume job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        _show(client.resume_job(job_id), output)


@app.command()
def run(
    job_id: JobId,
    force: Annotated[bool, typer.Option("--force", help="Also beside another run of the job.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a job now, also while it is paused; its schedule does not move.

    \b
    Example:
      dueline job run job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        _show(client.run_job(job_id, force=force), output)


@app.command()
def delete(job_id: JobId, if_version: options.IfVersion = None) -> None:
    """Delete a job: unstarted runs are cancelled, running ones end, its history stays.

    \b
    Example:
      dueline job delete job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        client.delete_job(job_id, if_version=if_version)
    typer.echo(f"Deleted {job_id}.", err=True)


def _show(record: dict[str, Any], output: Output) -> None:
    (print_json if output is Output.JSON else print_record)(record)


def _schedule(schedule: dict[str, Any] | None) -> str | None:
    """A schedule in a line: `cron 0 9 * * 1-5 Europe/Berlin`."""
    if not schedule:
        return None
    kind = next((kind for kind in _SCHEDULE_KINDS if kind in schedule), "")
    return " ".join(part for part in (kind, schedule.get(kind), schedule.get("timezone")) if part)


def _replacing(schedule: dict[str, Any]) -> dict[str, Any]:
    """A patch by which a schedule of one kind takes the place of any other; a mere companion changes nothing else."""
    inner = schedule.get("schedule", {})
    if any(kind in inner for kind in _SCHEDULE_KINDS):
        blank = dict.fromkeys((*_SCHEDULE_KINDS, *_COMPANIONS))
        return {"schedule": {**blank, **inner}}
    return schedule
