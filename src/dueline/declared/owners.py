"""Whose jobs are whose. A job that was declared carries the tag `owner:NAME`, and so it is known what may be pruned."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dueline.domain import limits

DEFAULT_OWNER = "apply"
_PREFIX = "owner:"
OWNER_LETTERS_MAX = limits.TAG_LETTERS_MAX - len(_PREFIX)
_NAME = re.compile(rf"[A-Za-z0-9._-]{{1,{OWNER_LETTERS_MAX}}}", re.ASCII)


def owner_problem(name: str) -> str | None:
    if _NAME.fullmatch(name):
        return None
    return f"must be 1 to {OWNER_LETTERS_MAX} of the letters A-Z a-z 0-9 . _ -"


def owner_tag(owner: str) -> str:
    return _PREFIX + owner


def is_owner_tag(tag: Any) -> bool:
    return isinstance(tag, str) and tag.startswith(_PREFIX)


def owner_of(job: Mapping[str, Any]) -> str | None:
    """Whose a job is; None: nobody's. Of several owners the first counts."""
    return next((tag.removeprefix(_PREFIX) for tag in job["tags"] if is_owner_tag(tag)), None)
