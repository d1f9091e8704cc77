"""`Idempotency-Key`: a request that is sent again is answered as the first time, and not carried out again."""

from __future__ import annotations

import re
from hashlib import blake2b

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import job_answer, json_answer
from dueline.api.problems import Refused
from dueline.api.requests import kept_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.api.run_views import run_as_it_is
from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import JobId, RunId
from dueline.domain.requests import KeptAnswer, RequestKey
from dueline.engine.requests import KEY_FIELD, AnswerLost, InProgress
from dueline.wire.jobs import JobView
from dueline.wire.runs import RunView

REPLAYED = "idempotent-replayed"
_KEY = re.compile(r'"([^"\\\x00-\x1f\x7f-\U0010ffff]+)"|([^"\x00-\x20\x7f-\U0010ffff][^\x00-\x1f\x7f-\U0010ffff]*)')
_NOT_KEPT = frozenset({"content-length"})


def has_key(request: Request) -> bool:
    """Whether a request is to be carried out once. A dry run carries nothing out, and its answer is of now; a key that is none is refused
    there as well, as it would be without."""
    if request.method != "POST" or KEY_FIELD not in request.headers:
        return False
    _read(request)
    return request.query_params.get("dry_run") != "true"


async def answer_once(surface: Surface, request: Request, route: ApiRoute) -> Response:
    """Carry a request out, or answer what was answered before."""

    async def carry_out() -> KeptAnswer:
        response = await route.handler(surface, request)
        headers = {name: value for name, value in response.headers.items() if name not in _NOT_KEPT}
        return KeptAnswer(response.status_code, headers, bytes(response.body))

    key = await _key_of(request, route)
    try:
        answer, replayed = await surface.requests.once(
            key, carry_out, repeatable=route.repeatable, shows_once=route.shows_once
        )
    except InProgress as error:
        raise Refused(409, "in-progress", str(error), headers={"retry-after": "1"}) from None
    except AnswerLost as lost:
        return await _as_it_is(surface, request, route, lost)
    if replayed and route.shows_once:
        raise Refused(
            409, "shown-once", "It was done before, and what was shown then is not kept: look at what there is."
        )
    headers = answer.headers | ({REPLAYED: "true"} if replayed else {})
    return Response(answer.body, answer.status, headers=headers)


async def _key_of(request: Request, route: ApiRoute) -> RequestKey:
    """A key belongs to an endpoint, and goes with all that was sent there: the path, the query, the body and the condition."""
    conditions = [value.encode("latin-1") for value in request.headers.getlist("if-match")]
    sent = (request.url.path.encode(), request.scope["query_string"], await kept_body(request), *conditions)
    digest = blake2b(b"\n".join(sent), digest_size=32).digest()
    return RequestKey(tenant_of(request), route.path, _read(request), digest)


def _read(request: Request) -> str:
    """Bare, or quoted as a string of structured fields."""
    values = request.headers.getlist(KEY_FIELD)
    found = _KEY.fullmatch(values[0].strip())
    key = "" if found is None else found[1] or found[2]
    if len(values) > 1 or not key or len(key) > limits.REQUEST_KEY_LETTERS_MAX:
        raise Invalid((KEY_FIELD, f"must be one key of 1 to {limits.REQUEST_KEY_LETTERS_MAX} printable ASCII letters"))
    return key


async def _as_it_is(surface: Surface, request: Request, route: ApiRoute, lost: AnswerLost) -> Response:
    """The answer to what was done and not answered, because whoever did it went away in between: the thing as it is now."""
    tenant = tenant_of(request)
    if lost.about and route.response is JobView:
        response = job_answer(await surface.insights.job(tenant, JobId(lost.about)), status=route.status)
    elif lost.about and route.response is RunView:
        response = json_answer(await run_as_it_is(surface, tenant, RunId(lost.about)), status=route.status)
    else:
        raise Refused(409, "answer-lost", "It was done, and its answer is lost: look at what there is.")
    response.headers[REPLAYED] = "true"
    return response
