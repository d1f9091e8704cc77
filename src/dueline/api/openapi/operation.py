"""What is told of a route beyond its types: its name, what it does, what it is asked with, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
COUNTED = ("RateLimit-Policy", "RateLimit")
"""Headers of answers to what counts against a quota of runs that are asked for."""


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the document. `id` is what the Python client calls it, `jobs.create`, and stays; the noun in it is its tag.

    `problems` are those beyond what every such route may answer.
    """

    id: str
    description: str = ""
    requests: Mapping[str, Any] = {}
    """Bodies to send, by what they are for. The server takes every one of them."""
    optional_body: bool = False
    problems: tuple[str, ...] = ()
    also: Mapping[int, str] = {}
    """Other statuses of success, and when."""
    headers: tuple[str, ...] = ()
    """Of the answer, beyond those that every answer has."""
    media_type: str = JSON
    streams: bool = False
    """Whether it goes on as server-sent events, and is a page of JSON to whoever asks for that."""
    asks_store: bool = True
    """Whether it needs the store, and fails where that is away."""

    @property
    def tag(self) -> str:
        return self.id.partition(".")[0]
