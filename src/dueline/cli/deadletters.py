"""`dueline deadletter …`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dueline.cli import options
from dueline.cli.connecting import connect, read_page
from dueline.cli.output import (
    Output,
    OutputOption,
    confirm,
    job_label,
    print_data,
    print_page,
    print_record,
    print_table,
    progress,
    show,
)
from dueline.cli.runs import print_run
from dueline.cli.watching import watchable

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

app = typer.Typer()

Queue = Annotated[str | None, typer.Option("--queue", help="Runs of a queue.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Runs that ended for a reason, such as run_timeout.")]
From = Annotated[str | None, typer.Option("--from", help="Failed at this RFC 3339 time or later.")]
OneRun = Annotated[str | None, typer.Argument(metavar="[ID]", help="The id of one run. Default: all that match.")]
To = Annotated[str | None, typer.Option("--to", help="Failed before this RFC 3339 time.")]


@app.command("list")
@watchable
def list_(
    job: options.OfJob = None,
    queue: Queue = None,
    reason: Reason = None,
    from_: From = None,
    to: To = None,
    limit: options.Limit = None,
    cursor: options.Cursor = None,
    all_: options.Everything = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """List failed runs that nobody has dealt with, latest scheduled first.

    \b
    Example:
      dueline deadletter list --queue mail --from 2026-03-29T00:00:00Z
    """
    filters = _filters(job, queue, reason, from_, to)
    with connect() as client:
        page = read_page(client.dead_letters.list, limit=limit, cursor=cursor, everything=all_, **filters)
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["ID", "FAILED", "QUEUE", "ATTEMPT", "JOB", "REASON", "ERROR"],
        [
            (
                letter["id"],
                letter["failed_at"],
                *(letter["run"][name] for name in ("queue", "attempt")),
                job_label(letter["run"]),
                letter["run"]["reason"],
                letter["run"]["error"] or letter["run"]["reason"],
            )
            for letter in page["items"]
        ],
        uncut=["ID"],
        spare=["ATTEMPT", "QUEUE", "REASON"],
        times=["FAILED"],
        wraps="ERROR",
    )
    print_page(page)


@app.command()
@watchable
def get(
    run_id: Annotated[str, typer.Argument(metavar="ID", help="The id of the run.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show a dead letter: the run, its attempts, and what was executed.

    \b
    Example:
      dueline deadletter get run_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        letter = client.dead_letters.get(run_id)
    if output is not Output.TABLE:
        print_data(letter, output)
        return
    print_run(letter["run"])
    typer.echo()
    print_record(letter["executed"])


@app.command()
def redrive(
    run_id: OneRun = None,
    job: options.OfJob = None,
    queue: Queue = None,
    reason: Reason = None,
    from_: From = None,
    to: To = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Runs a second. Default: 50.")] = None,
    latest: Annotated[bool, typer.Option("--latest", help="By the job's definition as it is now.")] = False,
    key: Annotated[
        str | None, typer.Option("--key", help="Names the wish: repeated, it makes no second run. Default: once.")
    ] = None,
    url: options.Url = None,
    method: options.Method = None,
    header: options.Headers = None,
    body: options.Body = None,
    args: options.Args = None,
    arg: options.Arg = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show how many match.")] = False,
    yes: options.Yes = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Try failed runs again as new runs: one by its id, corrected where options say so, or all that match.

    \b
    Examples:
      dueline deadletter redrive run_01h455vb4pex5vsknk084sn02q --body '{"amount": 12}'
      dueline deadletter redrive --queue mail --from 2026-03-29T00:00:00Z --rate 20
    """
    filters = _filters(job, queue, reason, from_, to)
    change = options.target_of(url=url, method=method, header=header, body=body, args=args, arg=arg)
    asked = options.given(key=key, version="latest" if latest else None)
    with connect() as client:
        if run_id is not None:
            if filters or rate is not None or dry_run:
                raise typer.BadParameter("give the id of one, or options that say which of many and how")
            show(client.dead_letters.redrive(run_id, **asked, **_corrected(client, run_id, change)), output)
            return
        if change:
            raise typer.BadParameter("only one is corrected at a time: give its id")
        done = _redrive_all(client, {**filters, **asked, **options.given(rate=rate)}, dry_run=dry_run, yes=yes)
    if output is not Output.TABLE:
        print_data(done, output)
    else:
        typer.echo(f"{done['matched']} would be tried again." if dry_run else f"Tried {done['redriven']} again.")


@app.command()
def purge(
    run_id: OneRun = None,
    job: options.OfJob = None,
    queue: Queue = None,
    reason: Reason = None,
    from_: From = None,
    to: To = None,
    yes: options.Yes = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Put aside one by its id, or all that match; the runs stay in the history.

    \b
    Examples:
      dueline deadletter purge run_01h455vb4pex5vsknk084sn02q
      dueline deadletter purge --to 2026-03-29T00:00:00Z
    """
    filters, purged = _filters(job, queue, reason, from_, to), 0
    if run_id is not None and filters:
        raise typer.BadParameter("give the id of one, or options that say which of many")
    with connect() as client:
        if run_id is not None:
            if not yes:
                run = client.dead_letters.get(run_id)["run"]
                confirm(f"Put the dead letter {run_id} aside, which failed with {run['error'] or run['reason']}?")
            client.dead_letters.delete(run_id)
            _print_purged(1, output)
            return
        found = client.dead_letters.redrive_many(**filters, dry_run=True)
        if found["matched"]:
            if not yes:
                confirm(f"Put {found['matched']} dead letters aside{_told(filters)}?")
            filters.setdefault("to", found["at"])
            with progress("Putting aside", found["matched"]) as advance:
                while count := client.dead_letters.purge(**filters)["purged"]:
                    purged += count
                    advance(count)
    _print_purged(purged, output)


def _print_purged(purged: int, output: Output) -> None:
    if output is not Output.TABLE:
        print_data({"purged": purged}, output)
    else:
        typer.echo(f"Put {purged} aside.")


def _filters(
    job: str | None, queue: str | None, reason: str | None, from_: str | None, to: str | None
) -> dict[str, Any]:
    return options.given(job_id=job, queue=queue, reason=reason, from_=from_, to=to)


def _told(filters: dict[str, Any]) -> str:
    """Which ones, in words."""
    said = ", ".join(f"{name.removesuffix('_')} {value}" for name, value in filters.items())
    return f" of {said}" if said else ", all that there are"


def _corrected(client: PlainClient, run_id: str, change: dict[str, Any]) -> dict[str, Any]:
    """The target that was called, with what options change of it."""
    if not change:
        return {}
    called = {"target": client.dead_letters.get(run_id)["executed"]["target"]}
    if "body" in change["target"]:
        called["target"]["body"] = called["target"]["body_base64"] = None
    return options.overlay(called, change)


def _redrive_all(client: PlainClient, asked: dict[str, Any], *, dry_run: bool, yes: bool) -> dict[str, Any]:
    """Call until nothing is left, at one pace. What was tried again and fails meanwhile is not tried once more."""
    found: dict[str, Any] = client.dead_letters.redrive_many(**asked, dry_run=True)
    if dry_run or not found["matched"]:
        return found
    if not yes:
        confirm(f"Try {found['matched']} dead letters again?")
    asked = {"to": found["at"], **asked}
    done, redriven = found, 0
    with progress("Trying again", found["matched"]) as advance:
        while True:
            done = client.dead_letters.redrive_many(**{**asked, "start_at": done["next_due_at"]})
            redriven += done["redriven"]
            advance(done["redriven"])
            if not done["left"] or not done["redriven"]:
                return {**done, "matched": found["matched"], "redriven": redriven}
