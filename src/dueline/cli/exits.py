"""Exit codes, and how an error is told: to stderr, with the fields to correct."""

from __future__ import annotations

import typer

from dueline.domain.errors import (
    Conflict,
    Invalid,
    NotFound,
    StoreMoved,
    StoreUnavailable,
    VersionMismatch,
)
from dueline.sdk import errors as sdk

FAILED = 1
BAD_INPUT = 2
NOT_FOUND = 3
CONFLICT = 4
UNREACHABLE = 5
CHANGES = 6
"""There is something to do. Only for whoever asked to be told so."""

_CODES: list[tuple[type[Exception], int]] = [
    (Invalid, BAD_INPUT),
    (sdk.Refused, BAD_INPUT),
    (NotFound, NOT_FOUND),
    (sdk.NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (VersionMismatch, CONFLICT),
    (sdk.Conflict, CONFLICT),
    (StoreMoved, CONFLICT),
    (StoreUnavailable, UNREACHABLE),
    (sdk.OverQuota, CONFLICT),
    (sdk.Unavailable, UNREACHABLE),
    (sdk.Unreachable, UNREACHABLE),
]


def report(error: Exception) -> int:
    """Tell an error of ours to whoever started the command; answers the exit code. Anything else is a bug, and shows its traceback."""
    problems = _problems(error)
    if len(problems) == 1 or not problems:
        typer.echo(f"Error: {problems[0] if problems else error}", err=True)
    else:
        typer.echo("Error: some values need correction.", err=True)
        for problem in problems:
            typer.echo(f"  {problem}", err=True)
    return next((code for kind, code in _CODES if isinstance(error, kind)), FAILED)


def _problems(error: Exception) -> list[str]:
    if isinstance(error, Invalid):
        return [f"{field}: {reason}" for field, reason in error.problems]
    if isinstance(error, sdk.ApiError):
        return [f"{problem.field}: {problem.reason}" for problem in error.errors]
    return []
