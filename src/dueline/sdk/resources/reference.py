"""The API, as the server describes it itself."""

from __future__ import annotations

from typing import Any

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint


class Reference(Resource[D]):
    """What can be asked, for programs and for people."""

    @endpoint("GET /v1/openapi.json")
    def document(self) -> Call[dict[str, Any]]:
        """The API as an OpenAPI 3.1 document."""
        return Call()

    @endpoint("GET /docs")
    def page(self) -> Call[str]:
        """The same as a page of HTML."""
        return Call()
