"""What an operation asks of the key that it is called with, as its route says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.routes import ApiRoute
from dueline.domain.access import KeyRole
from dueline.domain.job import DEFAULT_TENANT

_SCHEME = "api_key"

SECURITY_SCHEMES: Mapping[str, dict[str, Any]] = {
    _SCHEME: {
        "type": "http",
        "scheme": "bearer",
        "description": (
            "An API key, sent as `Authorization: Bearer KEY`. It belongs to a tenant and has a role: "
            f"{', '.join(f'`{role}`' for role in KeyRole)}. Each may do what those before it may."
        ),
    }
}


def security_of(route: ApiRoute) -> list[dict[str, list[str]]]:
    """The requirement, with the role in it; none for a route that is open."""
    return [] if route.is_open else [{_SCHEME: [route.role.value]}]


def needs_of(route: ApiRoute) -> str:
    """The same in a sentence."""
    if route.is_open:
        return "It takes no key."
    whose = f" of the tenant `{DEFAULT_TENANT}`" if route.is_shared else ""
    least, *_, most = KeyRole
    if route.role is least:
        return f"It takes any key{whose}."
    above = "" if route.role is most else " or one above it"
    return f"It takes a key{whose} with the role `{route.role}`{above}."
