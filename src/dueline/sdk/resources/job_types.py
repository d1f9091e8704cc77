"""Job types: the tasks that workers can carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.jobtypes import JobTypeView
    from dueline.wire.pages import Page


class JobTypes(Resource[D]):
    """Each is what a job may name as its task."""

    @listing("GET /v1/job-types")
    def list(self) -> Call[Page[JobTypeView]]:
        """List the tasks that workers can carry out, by name."""
        return Call()

    @endpoint("GET /v1/job-types/{name}")
    def get(self, name: str) -> Call[JobTypeView]:
        """Get one, with a JSON Schema of its arguments. NotFound names those that are spelt nearly so."""
        return Call((name,))
