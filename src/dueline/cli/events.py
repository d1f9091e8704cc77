"""`dueline event …`: what happens, as it happens or as it is kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.exits import report
from dueline.cli.naming import propose_event_types
from dueline.cli.output import A_LINE_EACH, Output, OutputOption, print_data, print_event, print_page, print_table
from dueline.cli.watching import AWAY
from dueline.domain.events import EventMark, EventType

if TYPE_CHECKING:
    from dueline.sdk.drivers import PlainListing

app = typer.Typer()

BEGINNING = EventMark(0, 0).text
"""No database has it: whoever asks with it is told all that is kept, after a `reset`."""
AWAY_S = 1.0
"""How soon a server that is away is asked again."""
NOT_WAITING = "PT0S"

Type = Annotated[
    str | None,
    typer.Option("--type", help="Only such, as run.failed or job.paused.", autocompletion=propose_event_types),
]


@app.command("list")
def list_(
    type_: Type = None,
    job: options.OfJob = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List what happened and is still kept, an hour at least, oldest first.

    \b
    Examples:
      dueline event list --type run.failed --all
      dueline event list --job greeting --output json
    """
    with connect() as client:
        listing = client.events.follow(type=type_, job_id=job, wait=NOT_WAITING, page_size=limit)
        page = _kept(listing, cursor, everything=all_)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["AT", "TYPE", "JOB", "RUN", "DETAIL"],
        [_row(event) for event in page["items"]],
        uncut=["TYPE", "RUN"],
        spare=["JOB"],
        times=["AT"],
        wraps="DETAIL",
    )
    print_page(page)


@app.command()
def follow(
    type_: Type = None,
    job: options.OfJob = None,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on behind the event that has this id. Default: now.")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Tell what happens as it happens, a line each, until Ctrl-C. A server that is away for a while is waited for, and nothing is missed.

    \b
    Examples:
      dueline event follow --type run.failed
      dueline event follow --job greeting --output json
    """
    with connect() as client:
        tell(client.events.follow(type=type_, job_id=job), cursor, output, resumable=True)


def tell(listing: PlainListing, cursor: str | None, output: Output, *, resumable: bool) -> None:
    """Print events as they come, until there is an end or somebody ends it. A server that is away is waited for, once it has answered.
    `resumable`: what goes on from here can be asked for."""
    answered = False
    try:
        while True:
            try:
                page = listing.page(cursor)
            except AWAY as error:
                if not answered:
                    raise
                report(error)
                threading.Event().wait(AWAY_S)
                continue
            answered, cursor = True, page["next_cursor"]
            for event in page["items"]:
                print_told(event, output)
            if cursor is None:
                return
    except KeyboardInterrupt:
        if cursor is not None and resumable:
            typer.echo(f"To go on from here: --cursor {cursor}", err=True)


def print_told(event: dict[str, Any], output: Output) -> None:
    """One event, in a line."""
    if output is Output.TABLE:
        print_event(event["at"], *_row(event)[1:])
        return
    token = A_LINE_EACH.set(True)
    try:
        print_data(event, output)
    finally:
        A_LINE_EACH.reset(token)


def detail_of(event: dict[str, Any]) -> str | None:
    """What there is to say besides which run or job it was."""
    attempt, run, job = event["attempt"], event["run"], event["job"]
    if attempt is not None:
        said = (attempt["outcome"], attempt["status"], attempt["error"], f"by {attempt['worker']}")
        return " ".join(str(part) for part in said if part is not None)
    if job is not None:
        return f"{job['state']}, version {job['version']}"
    if run is None:
        return "some were forgotten before they could be told"
    return f"{run['state']}: {run['reason']}" if run["reason"] else f"attempt {run['attempt']}, queue {run['queue']}"


def _kept(listing: PlainListing, cursor: str | None, *, everything: bool) -> dict[str, Any]:
    """A page of what is kept, or all of it. That there was something before the beginning is told to nobody who asked for the beginning."""
    at, items = cursor or BEGINNING, []
    while True:
        page = listing.page(at)
        ended, at = page["next_cursor"] == at, page["next_cursor"]
        items += [event for event in page["items"] if cursor is not None or event["type"] != EventType.RESET]
        if ended or (items and not everything):
            return {"items": items, "next_cursor": None if ended or everything else at}


def _row(event: dict[str, Any]) -> tuple[str | None, ...]:
    run, job = event["run"], event["job"]
    job_label = job["name"] if job else run and run["job_id"]
    return event["at"], event["type"], job_label, run and run["id"], detail_of(event)
