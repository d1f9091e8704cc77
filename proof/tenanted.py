"""Dueline whose API believes who callers say they are: until there are keys, real calls have one tenant only."""

from __future__ import annotations

from starlette.requests import Request

from dueline.api import requests
from dueline.domain.job import DEFAULT_TENANT
from proof.client import TENANT


def tenant_of(request: Request) -> str:
    return request.headers.get(TENANT, DEFAULT_TENANT)


if __name__ == "__main__":
    # The routes take the function from there by its name when they are imported, which they are only after this.
    requests.tenant_of = tenant_of  # type: ignore[assignment]
    from dueline.cli.main import main

    main()
