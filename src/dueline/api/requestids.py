"""What a request is called: in its answer, in the problem that it met, and in the log."""

from __future__ import annotations

import re
from itertools import count

from starlette.requests import Request

from dueline.runtime.chance import SystemChance

REQUEST_ID = "x-request-id"
_KEPT = "dueline.request_id"
_GIVEN = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")
_PROCESS = SystemChance().entropy().hex()[:12]
_numbers = count(1)


def request_id_of(request: Request) -> str:
    """What the caller calls it, if that is a plain word; else a name of its own: that of this process, and a number."""
    request_id: str | None = request.scope.get(_KEPT)
    if request_id is None:
        given = request.headers.get(REQUEST_ID)
        is_plain = given is not None and _GIVEN.fullmatch(given)
        request_id = given if given and is_plain else f"{_PROCESS}{next(_numbers):08x}"
        request.scope[_KEPT] = request_id
    return request_id
