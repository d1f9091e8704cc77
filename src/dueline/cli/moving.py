"""`dueline import …`: what other schedulers have, as jobs. Nothing is sent."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from dueline.cli.exits import FAILED
from dueline.cli.output import print_json, print_table, progress
from dueline.cli.shared_options import Shared, with_options
from dueline.domain.errors import Invalid
from dueline.domain.instants import parse_instant
from dueline.domain.texts import CONTROL
from dueline.runtime.clock import SystemClock

if TYPE_CHECKING:
    from dueline.moving.entries import Entry
    from dueline.moving.verifying import Comparison

app = typer.Typer()


class Format(StrEnum):
    YAML = "yaml"
    JSON = "json"


File = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read, - for standard input.")]
OutputOption = Annotated[Format, typer.Option("--output", "-o", help="yaml or json.")]
Write = Annotated[Path | None, typer.Option("--write", "-w", metavar="FILE", help="Write the jobs to a file.")]
Url = Annotated[
    str | None,
    typer.Option("--url", help="Make HTTP calls, not tasks: a URL with places for {name} and {task}."),
]
Task = Annotated[str | None, typer.Option("--task", help="One task for all jobs, in place of one for each.")]
Timezone = Annotated[str | None, typer.Option("--timezone", help="The zone of what names none. Default: UTC.")]
IncludeDisabled = Annotated[bool, typer.Option("--include-disabled", help="Write what is switched off, too.")]
Verify = Annotated[bool, typer.Option("--verify", help="Compare a year of fires with the rules of the source.")]
From = Annotated[str | None, typer.Option("--from", help="Read it as if it were then, an RFC 3339 time. Default: now.")]
_OPTIONS = {
    "timezone": Shared(Timezone),
    "url": Shared(Url),
    "task": Shared(Task),
    "include_disabled": Shared(IncludeDisabled, False),
    "verify": Shared(Verify, False),
    "from_": Shared(From),
    "output": Shared(OutputOption, Format.YAML),
    "write": Shared(Write),
}


class Asked(NamedTuple):
    """What somebody wants of what is read."""

    timezone: str | None
    url: str | None
    task: str | None
    include_disabled: bool
    verify: bool
    now_ms: int
    output: Format
    write: Path | None


def moving_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that all of them have; its parameter `asked` gets what they say."""
    return with_options(command, _OPTIONS, _asked)


def _asked(*, from_: str | None, **said: Any) -> Asked:
    if said["url"] is not None and said["task"] is not None:
        raise typer.BadParameter("give --url or --task, not both", param_hint="--task")
    now_ms = SystemClock().wall_ms() if from_ is None else parse_instant(from_, field="--from")
    return Asked(now_ms=now_ms, **said)


@app.command()
@moving_options
def crontab(
    file: File,
    *,
    system: Annotated[
        bool, typer.Option("--system", help="It has a column for the user, as /etc/crontab has.")
    ] = False,
    asked: Asked,
) -> None:
    """Read a crontab. Commands become tasks, or with --url HTTP calls.

    \b
    Examples:
      crontab -l | dueline import crontab - --timezone Europe/Berlin --write jobs.yaml
      dueline import crontab /etc/cron.d/backup --system --timezone Europe/Berlin --verify
      dueline import crontab my.cron --url 'https://example.com/jobs/{name}' --output json
    """
    _run("crontab", file, asked, system=system)


@app.command("celery-beat")
@moving_options
def celery_beat(file: File, asked: Asked) -> None:
    """Read Celery's beat_schedule from a Python file, which is not run, or a dump of django_celery_beat.

    \b
    Examples:
      dueline import celery-beat proj/celery.py --verify
      python manage.py dumpdata django_celery_beat | dueline import celery-beat - --write jobs.yaml
    """
    _run("celery-beat", file, asked)


@app.command()
@moving_options
def apscheduler(file: File, asked: Asked) -> None:
    """Read APScheduler's jobs from a Python file, which is not run, or from JSON.

    \b
    Examples:
      dueline import apscheduler app/jobs.py --timezone Europe/Berlin --verify
      curl -s localhost:5000/scheduler/jobs | dueline import apscheduler - --write jobs.yaml
    """
    _run("apscheduler", file, asked)


@app.command("kubernetes-cronjob")
@moving_options
def kubernetes_cronjob(file: File, asked: Asked) -> None:
    """Read Kubernetes' CronJobs from manifests.

    \b
    Examples:
      kubectl get cronjobs -A -o yaml | dueline import kubernetes-cronjob - --write jobs.yaml
      dueline import kubernetes-cronjob cronjobs.yaml --verify
    """
    _run("kubernetes-cronjob", file, asked)


@app.command()
@moving_options
def eventbridge(file: File, asked: Asked) -> None:
    """Read schedules and scheduled rules of Amazon EventBridge: answers of its API, CloudFormation or Terraform, as JSON.

    \b
    Examples:
      aws scheduler get-schedule --name nightly | dueline import eventbridge - --verify
      terraform show -json | dueline import eventbridge - --write jobs.yaml
    """
    _run("eventbridge", file, asked)


def _run(source: str, file: Path, asked: Asked, *, system: bool = False) -> None:
    # Imported here: the other commands need not know what other schedulers mean.
    from dueline.moving.entries import Options, Outcome
    from dueline.moving.sources import convert_file

    options = Options(
        timezone=asked.timezone,
        url=asked.url,
        task=asked.task,
        include_disabled=asked.include_disabled,
        now_ms=asked.now_ms,
        system=system,
    )
    entries = convert_file(source, _read(file), options)
    _tell(entries)
    jobs = {"jobs": [entry.job for entry in entries if entry.job is not None]}
    if asked.write is not None:
        _write(asked.write, _written(jobs, asked.output))
    elif not asked.verify:
        typer.echo(_written(jobs, asked.output), nl=False)
    failed = any(entry.outcome is Outcome.REFUSED for entry in entries)
    if asked.verify:
        failed |= not _verified(source, entries, asked.now_ms, asked.output)
    if failed:
        raise typer.Exit(FAILED)


def _read(file: Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Invalid(("FILE", f"cannot read {file}: {error.strerror}")) from None
    except UnicodeDecodeError:
        raise Invalid(("FILE", f"{file} is not UTF-8")) from None


def _written(jobs: dict[str, Any], output: Format) -> str:
    from dueline.moving.documents import write_json, write_yaml

    return write_json(jobs) if output is Format.JSON else write_yaml(jobs)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Invalid(("--write", f"cannot write {path}: {error.strerror}")) from None


def _tell(entries: list[Entry]) -> None:
    """What people should know of each entry, and what is to be done for all of them."""
    from dueline.moving.entries import Outcome

    told: dict[str, list[str]] = {}
    for entry in entries:
        name = "" if entry.job is None else entry.job["name"]
        label = entry.place if name in entry.place else f"{entry.place} ({name})"
        refused = "cannot be converted: " if entry.outcome is Outcome.REFUSED else ""
        for note in entry.notes:
            told.setdefault(refused + note, []).append(label)
    for note, labels in told.items():
        _say(f"{', '.join(labels)}: {note}")
    counts = {outcome: sum(entry.outcome is outcome for entry in entries) for outcome in Outcome}
    tasks = sorted({entry.task for entry in entries if entry.task is not None})
    if tasks:
        _say(f"A worker must have these tasks: {', '.join(tasks)}")
    _say(
        f"{counts[Outcome.CONVERTED]} converted, {counts[Outcome.LEFT_OUT]} left out, "
        f"{counts[Outcome.REFUSED]} cannot be converted."
    )


def _say(text: str) -> None:
    """A line on stderr. What stands in it comes from others."""
    typer.echo(CONTROL.sub("�", text), err=True)


def _verified(source: str, entries: list[Entry], now_ms: int, output: Format) -> bool:
    """Compare each job with its source, and tell; answers whether nothing differs."""
    from dueline.moving.verifying import Verdict, verify

    converted = [entry for entry in entries if entry.job is not None]
    found: list[Comparison] = []
    with progress("Comparing", len(converted)) as advance:
        for entry in converted:
            found.append(verify(entry, since_ms=now_ms, source=source))
            advance(1)
    if output is Format.JSON:
        print_json({"comparisons": found})
    else:
        _print_comparisons(found)
    return all(one.verdict is not Verdict.DIFFERS for one in found)


def _print_comparisons(found: list[Comparison]) -> None:
    print_table(
        ["JOB", "PLACE", "VERDICT", "FIRES", "DIFFERENCES", "UNTIL"],
        [(one.name, one.place, _verdict(one), one.fires, one.differences, one.until) for one in found],
        uncut=["VERDICT", "FIRES", "DIFFERENCES"],
    )
    rows = [
        (one.name, difference.utc, difference.local, difference.only, "yes" if difference.clocks_change else None)
        for one in found
        for difference in one.first
    ]
    if rows:
        typer.echo("\nThe first instants at which only one of the two fires:")
        print_table(["JOB", "UTC", "LOCAL", "ONLY", "CLOCKS CHANGE"], rows, uncut=["UTC", "LOCAL"])


def _verdict(one: Comparison) -> str:
    """Of one that fires too often to compare a year of it, how far it was compared."""
    return str(one.verdict) if one.complete else f"{one.verdict} up to {one.until}, not further"
