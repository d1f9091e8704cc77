"""An answer of every kind, as it might come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_origin

from dueline.api.openapi.examples import events, fleet, jobs, keys, versions, whole
from dueline.wire.pages import Page

ANSWERS: Mapping[Any, Any] = {
    **jobs.ANSWERS,
    **versions.ANSWERS,
    **fleet.ANSWERS,
    **keys.ANSWERS,
    **events.ANSWERS,
    **whole.ANSWERS,
}


def answer_of(kind: Any) -> Any:
    """An example of an answer, a page of one for a list; None where the type says all."""
    if get_origin(kind) is Page and kind not in ANSWERS:
        return Page([ANSWERS[get_args(kind)[0]]], None)
    return ANSWERS.get(kind)
