"""What differs between two views of a job, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from dueline.wire.jobs import JobInput

WRITABLE = JobInput.__struct_encode_fields__
_UNORDERED = frozenset({"tags"})
"""Lists that mean the same in any order."""


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field by its path; without `old` it is new, and without `new` it goes."""

    field: str
    old: Any | UnsetType = UNSET
    new: Any | UnsetType = UNSET


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    """What differs in the writable part of a job. Lists are compared as wholes."""
    return [
        found
        for name in WRITABLE
        if name not in _UNORDERED or sorted(old.get(name, ())) != sorted(new.get(name, ()))
        for found in _compared(name, old.get(name, UNSET), new.get(name, UNSET))
    ]


def _compared(path: str, old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            yield from _compared(f"{path}.{name}", old.get(name, UNSET), new.get(name, UNSET))
    elif not _is_same(old, new):
        yield Difference(path, old, new)


def _is_same(old: Any, new: Any) -> bool:
    """Equal as JSON: 1 is not true."""
    return bool(old == new) and msgspec.json.encode(_shown(old)) == msgspec.json.encode(_shown(new))


def _shown(value: Any) -> Any:
    return None if value is UNSET else value
