"""Types of jobs as they stand."""

from __future__ import annotations

import msgspec


class JobTypeView(msgspec.Struct, frozen=True, kw_only=True):
    """A task that jobs may name as their `target.task`. `parameters` is a JSON Schema of its `args`."""

    name: str
    description: str | None
    queue: str
    parameters: msgspec.Raw
    workers: int
    seen_at: str
