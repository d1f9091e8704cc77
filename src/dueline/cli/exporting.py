"""`dueline export`: write the server's jobs as files that `dueline apply` takes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from dueline.cli.connecting import connect
from dueline.cli.output import print_json
from dueline.declared.owners import owner_of, owner_tag
from dueline.declared.writing import documents_of, to_yaml, with_credentials


class Written(StrEnum):
    YAML = "yaml"
    JSON = "json"


def register(app: typer.Typer) -> None:
    app.command("export")(export)


def export(
    tag: Annotated[str | None, typer.Option("--tag", help="Jobs with a tag.")] = None,
    owner: Annotated[
        str | None, typer.Option("--owner", help="Jobs of an owner. Default: of all, and of nobody.")
    ] = None,
    output: Annotated[Written, typer.Option("--output", "-o", help="YAML, or JSON.")] = Written.YAML,
) -> None:
    """Write jobs so that `dueline apply` of it changes nothing. Their states and their histories are left out.

    \b
    Examples:
      dueline export > jobs.yaml
      dueline export --owner shop --output json
    """
    with connect() as client:
        found = client.jobs.list(tag=tag or (None if owner is None else owner_tag(owner)), page_size=500)
        jobs = [job for job in found if owner is None or owner_of(job) == owner]
    documents = documents_of(jobs) or [{"owner": owner, "jobs": []}]
    if output is Written.YAML:
        typer.echo(to_yaml(documents), nl=False)
    else:
        print_json(documents[0] if len(documents) == 1 else documents)
    if telling := with_credentials(jobs):
        typer.echo(f"Look before you share this: headers of {', '.join(telling)} may let their reader in.", err=True)
