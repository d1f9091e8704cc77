"""`dueline audit`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from dueline.cli import exits, options
from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, print_data, print_record, print_table

_PROBLEMS = ("missed", "doubled", "late")


def register(app: typer.Typer) -> None:
    app.command()(audit)


def audit(
    job: options.OfJob = None,
    from_: Annotated[str | None, typer.Option("--from", help="From this RFC 3339 time on. Default: a day ago.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Before this RFC 3339 time. Default: now.")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare what schedules asked for with what became of it. Exits with 1 if anything was missed or done twice.

    \b
    Examples:
      dueline audit
      dueline audit --from 2026-03-28T00:00:00Z --to 2026-03-30T00:00:00Z --output json
      dueline audit --job job_01h455vb4pex5vsknk084sn02q
    """
    with connect() as client:
        found = _totals(client.audits.list(from_=from_, to=to, job_id=job))
    if output is not Output.TABLE:
        print_data(found, output)
    else:
        _print(found)
    if found["missed"] or found["doubled"]:
        raise typer.Exit(exits.FAILED)


def _totals(accounts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The accounts of all jobs as one; those with problems are kept."""
    counts, verdicts, reasons = Counter[str](), Counter[str](), Counter[str]()
    problems = []
    for account in accounts:
        counts.update({name: account[name] for name in ("expected", *_PROBLEMS)}, jobs=1)
        verdicts.update(account["verdicts"])
        reasons.update(account["reasons"])
        if any(account[name] for name in _PROBLEMS):
            problems.append(account)
    return {
        **{name: counts[name] for name in ("jobs", "expected", *_PROBLEMS)},
        "verdicts": dict(sorted(verdicts.items())),
        "reasons": dict(sorted(reasons.items())),
        "problems": problems,
    }


def _print(found: dict[str, Any]) -> None:
    problems = found.pop("problems")
    told = {
        name: ", ".join(f"{count} {what}" for what, count in found[name].items()) for name in ("verdicts", "reasons")
    }
    print_record({**found, **{name: text or None for name, text in told.items()}})
    found["problems"] = problems
    if problems:
        typer.echo()
        print_table(
            ["JOB", "NAME", "EXPECTED", "MISSED", "DOUBLED", "LATE", "FIRST"],
            [_row(account) for account in problems],
            uncut=["JOB"],
            spare=["EXPECTED"],
            times=["FIRST"],
        )


def _row(account: dict[str, Any]) -> list[Any]:
    late = [start["scheduled_at"] for start in account["late_starts"]]
    first = min([*account["missed_at"], *account["doubled_at"], *late], default=None)
    return [account["job_id"], account["name"], account["expected"], *(account[name] for name in _PROBLEMS), first]
