"""Arguments of functions as Dueline's tasks take them: by name, and as JSON."""

from __future__ import annotations

from math import isfinite
from typing import Any

from dueline.moving.entries import Unconvertible


def arguments(positional: Any, keywords: Any, notes: list[str]) -> dict[str, Any]:
    """Arguments by name, as Dueline has them. Those without one go into a list."""
    if not isinstance(positional, list) or not isinstance(keywords, dict):
        raise Unconvertible("its arguments are no list and no dict with values in the file")
    values = dict(keywords)
    if positional:
        values["args"] = list(positional)
        notes.append("arguments without a name are in args: Dueline's tasks take theirs by name")
    if not _is_json(values):
        raise Unconvertible("an argument is no literal that JSON has: pass it by its name or by reference")
    return values


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(_is_json(inner) for inner in value)
    if isinstance(value, float):
        return isfinite(value)
    return value is None or isinstance(value, str | int)
