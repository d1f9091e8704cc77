"""`dueline doctor`."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from dueline.cli.connecting import client_settings, connect, resolve_api_key
from dueline.cli.exits import FAILED
from dueline.cli.findings import Finding, Level, ok, warning
from dueline.cli.output import Output, OutputOption, print_data, print_lines
from dueline.cli.profile_file import is_private
from dueline.cli.server_checks import check_server
from dueline.config import profile_file
from dueline.runtime.clock import SystemClock

TIMEOUT_S = 10.0
"""For each question: a server that takes longer is not well."""
_STYLES = {Level.OK: "green", Level.WARNING: "yellow", Level.ERROR: "red"}

Db = Annotated[
    str | None, typer.Option(help="Look into this store as well: a file path or postgresql://… [DUELINE_DB]")
]


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(db: Db = None, output: OutputOption = Output.TABLE) -> None:
    """Look for what is wrong with a server and its store, and say what to do. Exits with 1 if there is an error.

    It only looks. The store itself is looked into where --db or DUELINE_DB says which.

    \b
    Examples:
      dueline doctor
      dueline doctor --db postgresql://localhost/dueline --output json
    """
    settings = client_settings()
    key = resolve_api_key(settings)
    findings = [_keys_file()]
    with connect(timeout_s=TIMEOUT_S) as client:
        findings += check_server(client, SystemClock(), has_key=key is not None)
    address = db if db is not None else settings.db if settings.origins["db"] != "default" else None
    if address is not None:
        findings += asyncio.run(_look_into(address))
    counts = {level.value: sum(finding.level is level for finding in findings) for level in Level}
    if output is not Output.TABLE:
        print_data({**counts, "findings": findings}, output)
    else:
        _print(findings, counts)
        if address is None:
            typer.echo("Say --db to have the store itself looked into as well.", err=True)
    if counts[Level.ERROR]:
        raise typer.Exit(FAILED)


def _keys_file() -> Finding:
    path = profile_file()
    if is_private(path):
        return ok("keys.file", "Nobody else can read the keys of profiles.")
    return warning("keys.file", f"Others on this machine can read {path}, which may hold keys.", f"chmod 600 {path}")


async def _look_into(address: str) -> list[Finding]:
    # Imported here: the other commands must not wait for the drivers of databases.
    from dueline.cli.store_checks import check_store
    from dueline.store.conditions import look_at

    clock = SystemClock()
    return [finding async for finding in check_store(look_at(address, clock), clock)]


def _print(findings: list[Finding], counts: dict[str, int]) -> None:
    width = max(len(finding.check) for finding in findings)
    lines = []
    for finding in findings:
        lines.append((_STYLES[finding.level], f"{finding.level:<8} {finding.check:<{width}}  {finding.meaning}"))
        if finding.advice:
            lines.append(("", f"{'':<8} {'':<{width}}  → {finding.advice}"))
    lines.append(("bold", ", ".join(f"{count} {level}" for level, count in counts.items()) + "."))
    print_lines(lines)
