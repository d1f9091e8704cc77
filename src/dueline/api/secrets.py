"""The signing secret over HTTP. It is in one answer only: the one to the request that made it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.instants import format_instant
from dueline.wire.secrets import NewSecretView, SecretView

_NOT_KEPT = {"cache-control": "no-store"}


async def get(surface: Surface, request: Request) -> Response:
    rotated_ms = await surface.signing.rotated_ms(tenant_of(request))
    rotated_at = None if rotated_ms is None else format_instant(rotated_ms)
    return json_answer(SecretView(is_set=rotated_at is not None, rotated_at=rotated_at))


async def rotate(surface: Surface, request: Request) -> Response:
    made = await surface.signing.rotate(tenant_of(request))
    view = NewSecretView(secret=made.current, rotated_at=format_instant(made.rotated_ms))
    return json_answer(view, headers=_NOT_KEPT)


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/signing-secret",
        handler=get,
        needs=KeyRole.ADMIN,
        summary="Tell whether there is a secret to sign calls with, and since when.",
        response=SecretView,
    ),
    ApiRoute(
        method="POST",
        path="/v1/signing-secret/rotate",
        handler=rotate,
        needs=KeyRole.ADMIN,
        summary="Make a secret, the first or a new one, and show it this once.",
        response=NewSecretView,
    ),
)
