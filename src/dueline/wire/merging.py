"""JSON Merge Patch (RFC 7396): objects are merged member by member, null removes, anything else replaces."""

from __future__ import annotations

from typing import Any


def merge(target: Any, patch: Any) -> Any:
    """The target with the patch applied; neither is altered."""
    if not isinstance(patch, dict):
        return patch
    merged: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value)
    return merged
