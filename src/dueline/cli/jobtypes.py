"""`dueline jobtype …`, and what is told to people who name a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dueline.cli.connecting import connect
from dueline.cli.output import Output, OutputOption, print_data, print_record, print_table
from dueline.cli.watching import watchable
from dueline.sdk.errors import ApiError, NotFound, Unreachable

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

app = typer.Typer()


@app.command("list")
@watchable
def list_(output: OutputOption = Output.TABLE) -> None:
    """List the tasks that workers can carry out, by name.

    \b
    Example:
      dueline jobtype list
    """
    with connect() as client:
        page = client.job_types.list().page()
    if output is not Output.TABLE:
        print_data(page, output)
        return
    print_table(
        ["NAME", "QUEUE", "WORKERS", "ARGUMENTS", "SEEN", "DESCRIPTION"],
        [
            (
                one["name"],
                one["queue"],
                one["workers"],
                " ".join(_signature(one["parameters"])) or None,
                one["seen_at"],
                (one["description"] or "").partition("\n")[0] or None,
            )
            for one in page["items"]
        ],
        uncut=["NAME"],
        spare=["SEEN", "QUEUE"],
        times=["SEEN"],
        wraps="DESCRIPTION",
    )


@app.command("show")
@watchable
def show_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the task.")],
    output: OutputOption = Output.TABLE,
) -> None:
    """Show one with its arguments: their types, and which of them are required.

    \b
    Example:
      dueline jobtype show report
    """
    with connect() as client:
        found = client.job_types.get(name)
    if output is not Output.TABLE:
        print_data(found, output)
        return
    parameters = found.pop("parameters")
    print_record(found)
    typer.echo()
    required, members = set(parameters.get("required", ())), parameters.get("properties", {})
    print_table(
        ["ARGUMENT", "REQUIRED", "TYPE", "DEFAULT"],
        [
            (argument, "yes" if argument in required else "no", _type(schema), schema.get("default"))
            for argument, schema in members.items()
        ],
        uncut=["ARGUMENT"],
    )


def tell_of_task(client: PlainClient, target: Mapping[str, Any] | None) -> None:
    """Tell on stderr what does not fit what workers say of a task. It may be they who are old, so nothing is refused."""
    if not target or "task" not in target:
        return
    try:
        known = client.job_types.get(str(target["task"]))
    except NotFound as error:
        typer.echo(f"Note: no worker has offered this task yet ({error}).", err=True)
        return
    except (ApiError, Unreachable):
        return  # What was asked for is done; that nothing can be said of it is no failure.
    for note in _misfits(target.get("args") or {}, known["parameters"]):
        typer.echo(f"Note: {note}, say the workers that have this task.", err=True)


def _misfits(args: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[str]:
    for name in parameters.get("required", ()):
        if name not in args:
            yield f"target.args.{name} is required"
    if parameters.get("additionalProperties") is False:
        for name in args:
            if name not in parameters.get("properties", {}):
                yield f"target.args.{name} is unknown"


def _signature(parameters: Mapping[str, Any]) -> Iterator[str]:
    """The names of the arguments; those that may be left out in brackets."""
    required = set(parameters.get("required", ()))
    for name in parameters.get("properties", {}):
        yield name if name in required else f"[{name}]"


def _type(schema: Mapping[str, Any]) -> Any:
    """What a schema says without its default, as short as it goes: `integer`, or the JSON of it."""
    said = {name: value for name, value in schema.items() if name != "default"}
    return said["type"] if set(said) == {"type"} else said or "anything"
