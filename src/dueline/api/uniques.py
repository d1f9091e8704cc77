"""Answers about runs that somebody asked for with a dedupe key, and that were not written."""

from __future__ import annotations

from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.routes import Surface
from dueline.api.run_views import run_as_it_is
from dueline.domain.errors import Conflict
from dueline.domain.uniqueness import UniqueAnswer


async def standing_answer(surface: Surface, tenant: str, answer: UniqueAnswer) -> Response:
    """The run that stands for the one that was asked for. Raises Conflict where none does."""
    if answer.refused:
        raise Conflict(answer.refusal)
    return json_answer(await run_as_it_is(surface, tenant, answer.run_id))
