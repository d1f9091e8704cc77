"""`dueline schedule …`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.naming import job_id_of, propose_jobs
from dueline.cli.output import Output, OutputOption, print_data, print_table, schedule_line
from dueline.runtime.clock import SystemClock
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_body

app = typer.Typer()


@app.command()
def preview(
    schedule: Annotated[
        str, typer.Argument(metavar="SCHEDULE", help="In any language: English, cron, …, or a JSON object.")
    ],
    timezone: options.Timezone = None,
    from_: Annotated[str | None, typer.Option("--from", help="Fires after this RFC 3339 time. Default: now.")] = None,
    count: Annotated[int | None, typer.Option("--count", help="So many fires. Default: 10.")] = None,
    dst_gap: options.DstGap = None,
    dst_overlap: options.DstOverlap = None,
    job: Annotated[
        str | None,
        typer.Option(
            "--job",
            metavar="ID",
            help="Compare with the schedule of a job, by its id or its name.",
            callback=job_id_of,
            autocompletion=propose_jobs,
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a schedule means: in its canonical form, in words, and by its next fires. It needs a server only for calendars and --job.

    \b
    Examples:
      dueline schedule preview "0 9 * * 1-5" --timezone Europe/Berlin
      dueline schedule preview "every weekday at 9:00 Europe/Berlin" --from 2026-03-27T00:00:00Z --count 5
      dueline schedule preview '{"cron": "30 2 * * *"}' --timezone Europe/Berlin --dst-gap skip --output json
    """
    asked = {
        "schedule": options.read_schedule(schedule, hint="SCHEDULE"),
        **options.given(timezone=timezone, count=count, dst_gap=dst_gap, dst_overlap=dst_overlap, job_id=job),
        **options.given(**{"from": from_}),
    }
    if job is not None or (isinstance(asked["schedule"], dict) and asked["schedule"].get("calendars")):
        with connect() as client:
            found = client.request("POST", "/v1/schedules/preview", asked)
    else:
        found = _previewed(asked)
    if output is not Output.TABLE:
        print_data(
            found if job is not None else {name: found[name] for name in ("canonical", "description", "fires")}, output
        )
        return
    typer.echo(f"{schedule_line(found['canonical'])}\n{found['description']}\n")
    print_table(
        ["UTC", "LOCAL", "NOTE"],
        [(fire["utc"], fire["local"], fire["note"]) for fire in found["fires"]],
        uncut=["UTC", "LOCAL"],
    )
    if found["changes"] is not None:
        _print_changes(found["changes"])


def _previewed(asked: dict[str, Any]) -> dict[str, Any]:
    """The same as the server would answer, without one."""
    # Imported here: the other commands need not know what schedules mean.
    from dueline.wire.previews import PreviewInput, preview_view, to_preview

    problems = Problems()
    spec = to_preview(read_body(encode(asked), PreviewInput, problems), problems, now_ms=SystemClock().wall_ms())
    found: dict[str, Any] = decode(encode(preview_view(spec, {})))
    return found


def _print_changes(changes: dict[str, list[str]]) -> None:
    typer.echo()
    rows = [(at, "added") for at in changes["added"]] + [(at, "removed") for at in changes["removed"]]
    if rows:
        print_table(["UTC", "CHANGE"], sorted(rows), uncut=["UTC"])
    else:
        typer.echo("The job's fires stay the same.")
