"""Who comes in: every route but those that are open asks for a key, and looks what it may."""

from __future__ import annotations

import re

from starlette.requests import Request

from dueline.api.problems import Refused
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import Caller, KeyRefused
from dueline.domain.job import DEFAULT_TENANT
from dueline.runtime.log import get_log

log = get_log(__name__)

_BEARER = re.compile(r"bearer +([!-~]{1,300}) *", re.IGNORECASE)
_HOW = "Send it as `Authorization: Bearer KEY`."


async def admit(surface: Surface, request: Request, route: ApiRoute) -> Caller:
    """Whoever sent the request, if they may use the route; Refused otherwise."""
    try:
        caller = await surface.keyring.caller(_shown(request), while_away=route.without_store)
    except KeyRefused as refused:
        log.info("key refused", reason=str(refused))
        raise _unknown("The API key is unknown, mistyped, revoked or expired.") from None
    if not caller.key.role.covers(route.role):
        needed = f"This needs a key with the role {route.role}; the role of this one is {caller.key.role}."
        raise Refused(403, "forbidden", needed)
    if route.is_shared and not caller.governs:
        raise Refused(403, "forbidden", f"All tenants share this: only keys of the tenant {DEFAULT_TENANT} may.")
    return caller


def _shown(request: Request) -> str:
    sent = request.headers.getlist("authorization")
    if not sent:
        raise _unknown(f"This needs an API key. {_HOW}")
    found = _BEARER.fullmatch(sent[0]) if len(sent) == 1 else None
    if found is None:
        raise _unknown(f"The header Authorization holds no API key. {_HOW}")
    return found[1]


def _unknown(detail: str) -> Refused:
    # Whatever body comes with it is not read, so the connection cannot be used again.
    return Refused(
        401, "unauthorized", detail, headers={"www-authenticate": 'Bearer realm="dueline"', "connection": "close"}
    )
