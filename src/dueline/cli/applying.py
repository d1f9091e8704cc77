"""`dueline apply`: have the server's jobs be what files declare."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import msgspec
import typer

from dueline.cli import options
from dueline.cli.connecting import connect
from dueline.cli.exits import BAD_INPUT, CHANGES, CONFLICT, FAILED, report
from dueline.cli.output import Output, OutputOption, confirm, print_data, print_lines, progress
from dueline.cli.plan_lines import outcome_lines, plan_lines, summary
from dueline.declared.asking import ask, with_fires
from dueline.declared.carrying import End, Outcome, carry_out
from dueline.declared.documents import Fault, File, read_files
from dueline.declared.owners import owner_problem
from dueline.declared.plans import Action, Plan, make_plan
from dueline.domain.errors import DuelineError, Invalid

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

STANDARD_INPUT = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


def register(app: typer.Typer) -> None:
    app.command("apply")(apply)


def apply(
    file: Annotated[
        list[Path],
        typer.Option(
            "--file",
            "-f",
            metavar="PATH",
            help="A YAML or JSON file, a folder of them, or - for standard input; repeat it.",
        ),
    ],
    owner: Annotated[
        str | None, typer.Option("--owner", help="Whose the jobs are, in place of what the files say. Default: apply.")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Delete the owner's jobs that no file declares.")] = False,
    adopt: Annotated[bool, typer.Option("--adopt", help="Take over jobs of the same names that are others'.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit with 6 if there is something to do.")
    ] = False,
    yes: options.Yes = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Have the server's jobs be what files declare: create what is missing, update what differs, and with --prune delete the rest.

    The plan is shown first, and the server checks all of it before anything is written. Deletions are asked about.

    \b
    Examples:
      dueline apply -f jobs.yaml --dry-run
      dueline apply -f jobs/ --owner shop --prune --yes
      dueline export --owner shop | dueline apply -f - --owner shop
    """
    if exit_code and not dry_run:
        raise typer.BadParameter("goes with --dry-run", param_hint="--exit-code")
    if owner is not None and (reason := owner_problem(owner)):
        raise typer.BadParameter(reason, param_hint="--owner")
    reading = read_files(list(_files(file)), owner=owner)
    if reading.faults:
        _refuse(reading.faults)
    with connect() as client:
        answer = ask(client, reading.declared, reading.owners, adopt=adopt)
        if answer.faults:
            _refuse(answer.faults)
        plan = make_plan(reading.declared, answer.found, prune=reading.owners if prune else (), owned=answer.owned)
        plan = with_fires(client, plan, answer.found)
        if dry_run:
            _show(plan, output)
            raise typer.Exit(CHANGES if exit_code and plan.changes else 0)
        if output is Output.TABLE:
            _show(plan, output)
            if not plan.changes:
                return
        if plan.of(Action.DELETE) and not yes:
            _ask(plan, file, output)
        _carry_out(client, plan, output)


def _files(paths: Sequence[Path]) -> Iterator[File]:
    """The texts of all files; a folder stands for those in it."""
    for path in paths:
        if str(path) == STANDARD_INPUT:
            yield File("standard input", _text(path, sys.stdin.buffer.read()))
        elif path.is_dir():
            inside = sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES and not one.name.startswith("."))
            if not inside:
                raise Invalid(("--file", f"{path} has no {', '.join(_SUFFIXES)} in it"))
            for one in inside:
                yield File(str(one), _text(one, _bytes(one)))
        else:
            yield File(str(path), _text(path, _bytes(path)))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Invalid(("--file", f"cannot read {path}: {error.strerror}")) from None


def _text(path: Path, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Invalid(("--file", f"{path}:{line} is not UTF-8")) from None


def _refuse(faults: Sequence[Fault]) -> NoReturn:
    """Tell all that is wrong, and end the command: nothing was written."""
    typer.echo("Error: nothing was done. Correct this first:", err=True)
    print_lines([("", f"  {fault}") for fault in faults], err=True)
    raise typer.Exit(CONFLICT if all(fault.is_conflict for fault in faults) else BAD_INPUT)


def _ask(plan: Plan, paths: Sequence[Path], output: Output) -> None:
    """End here unless somebody says yes to the deletions."""
    if output is not Output.TABLE:
        print_lines(plan_lines(plan), err=True)
    if any(str(path) == STANDARD_INPUT for path in paths):
        typer.echo("Error: standard input has the jobs, so nobody can be asked: say --yes to delete.", err=True)
        raise typer.Exit(BAD_INPUT)
    confirm(f"{summary(plan)}. Do it?")


def _carry_out(client: PlainClient, plan: Plan, output: Output) -> None:
    """Do it, and exit by what became of it."""
    outcomes: list[Outcome] = []
    code = 0
    try:
        with progress("Applying", plan.changes) as advance:
            for outcome in carry_out(client, plan):
                outcomes.append(outcome)
                advance(1)
                if outcome.end is not End.DONE:
                    code = FAILED if outcome.end is End.FAILED or code == FAILED else CONFLICT
    except DuelineError as error:
        code = report(error)
    if output is not Output.TABLE:
        print_data(_view(plan, outcomes, dry_run=False), output)
    else:
        print_lines(outcome_lines(plan, outcomes), err=True)
    raise typer.Exit(code)


def _show(plan: Plan, output: Output) -> None:
    if output is not Output.TABLE:
        print_data(_view(plan, [], dry_run=True), output)
    else:
        print_lines(plan_lines(plan))


def _view(plan: Plan, outcomes: Sequence[Outcome], *, dry_run: bool) -> dict[str, Any]:
    """The plan for programs; `end` is null for a step that was not carried out."""
    ended = {id(outcome.step): outcome for outcome in outcomes}
    steps = []
    for step in plan.steps:
        outcome = ended.get(id(step))
        end, reason = (None, "") if outcome is None else (outcome.end, outcome.reason)
        steps.append({**msgspec.to_builtins(step), "end": end, "reason": reason})
    counts = {action.value: len(plan.of(action)) for action in Action}
    return {"dry_run": dry_run, **counts, "steps": steps}
