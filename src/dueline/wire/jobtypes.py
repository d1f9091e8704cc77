"""Types of jobs as they stand."""

from __future__ import annotations

from typing import Any

import msgspec


class JobTypeView(msgspec.Struct, frozen=True, kw_only=True):
    """A task that jobs may name as their `target.task`. `parameters` is a JSON Schema of its `args`."""

    name: str
    description: str | None
    queue: str
    parameters: Any
    workers: int
    seen_at: str
