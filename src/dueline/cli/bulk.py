"""Many jobs or runs from a file: sent piece by piece, so that it can be seen how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from dueline.cli.output import progress
from dueline.domain.errors import DuelineError

if TYPE_CHECKING:
    from dueline.sdk.client import PlainClient

PIECE = 1_000
"""Items of one call: a tenth of a second of the server's time, and a bar that moves."""


def create_many(client: PlainClient, nouns: str, written: dict[str, Any]) -> dict[str, Any]:
    """What became of each, in the order of the file. All or none go in one call, and so does what is for the server to refuse."""
    path, items = f"/v1/{nouns}/bulk", written[nouns]
    if written.get("atomic") or not isinstance(items, list) or len(items) <= PIECE:
        answer: dict[str, Any] = client.request("POST", path, written)
        return answer
    whole: dict[str, Any] = {"items": [], "created": 0, "failed": 0}
    with progress("Creating", len(items)) as advance:
        for first in range(0, len(items), PIECE):
            piece = items[first : first + PIECE]
            try:
                answer = client.request("POST", path, {**written, nouns: piece})
            except DuelineError:
                if first:
                    typer.echo(f"The first {first} of {len(items)} were sent before this:", err=True)
                raise
            whole["items"] += answer["items"]
            for count in ("created", "failed"):
                whole[count] += answer[count]
            advance(len(piece))
    return whole
