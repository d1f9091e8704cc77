"""What a request is called: in its answer, in the problem that it met, and in the log."""

from __future__ import annotations

import re

from starlette.requests import Request

from dueline.runtime.chance import SystemChance

REQUEST_ID = "x-request-id"
_GIVEN = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_chance = SystemChance()


def request_id_of(request: Request) -> str:
    """What the caller calls it, if that is a plain word; else a name of its own."""
    if not hasattr(request.state, "request_id"):
        given = request.headers.get(REQUEST_ID, "")
        request.state.request_id = given if _GIVEN.fullmatch(given) else _chance.entropy().hex()
    request_id: str = request.state.request_id
    return request_id
