"""Jobs by their names, and the versions of a job."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

_TARGET = {"type": "http", "url": "https://example.com/reports"}

OPERATIONS = {
    "GET /v1/jobs/by-name/{name}": Operation(
        id="jobs.get_named",
        description="A name may hold slashes, percent-encoded or not.",
        headers=("ETag",),
    ),
    "PUT /v1/jobs/by-name/{name}": Operation(
        id="jobs.put_named",
        description=(
            "A job that is there is replaced as by its id. With `If-None-Match: *` none is replaced, and with `If-Match` none is created. "
            "Of two that write a new one at once, one creates it and the other replaces it."
        ),
        requests={"every hour": {"target": _TARGET, "schedule": {"every": "PT1H"}}},
        problems=("conflict", "over-quota"),
        also={201: "It was created."},
        headers=("ETag", "Location"),
    ),
    "GET /v1/jobs/{id}/versions": Operation(
        id="jobs.versions",
        description=(
            "Every change of what people write of a job makes one, and so do `skip`, `move` and `restore`; pausing does not. All are kept "
            "for as long as the job is there."
        ),
    ),
    "GET /v1/jobs/{id}/versions/{version}": Operation(id="jobs.version"),
    "GET /v1/jobs/{id}/versions/{version}/diff": Operation(
        id="jobs.diff",
        description="Field by field. Lists are compared as wholes, tags in any order.",
    ),
    "POST /v1/jobs/{id}/versions/{version}/rollback": Operation(
        id="jobs.rollback",
        description=(
            "It is a `PUT` of that definition: what could not be written today is refused. A job that has it already stays at its version. "
            "With `dry_run` nothing is written."
        ),
        problems=("conflict",),
        headers=("ETag",),
    ),
}
