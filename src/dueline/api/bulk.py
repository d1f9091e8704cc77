"""Answers to calls for many things, of which some may be refused."""

from __future__ import annotations

from collections.abc import Mapping

from dueline.domain import limits
from dueline.domain.errors import Conflict, Invalid
from dueline.wire.reading import WHOLE


def none_done(noun: str, refused: Mapping[int, Invalid | Conflict]) -> Invalid | Conflict:
    """Why nothing of a call for all or none was done. What can never work is told before what another state would allow."""
    invalid = {index: refusal for index, refusal in refused.items() if isinstance(refusal, Invalid)}
    found = [
        (_inside(f"{noun}[{index}]", field), reason)
        for index, refusal in (invalid or refused).items()
        for field, reason in refusal.problems
    ]
    told = found[: limits.PROBLEMS_MAX]
    if invalid:
        return Invalid(*told)
    return Conflict(f"{len(refused)} of the {noun} cannot be created, so none was", *told)


def _inside(item: str, field: str) -> str:
    return item if field == WHOLE else f"{item}.{field}"
