"""The simple endpoints: jobs of a job type, in few words."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

_REPORT = {
    "job_type": "report",
    "payload": {"day": "today"},
    "frequency": "RECURRING",
    "schedule": {"hour": 9, "minute": 30, "days_of_week": "MON-FRI"},
}

OPERATIONS = {
    "POST /job/create": Operation(
        id="simple.create",
        description="Problems name the fields of jobs: `target.task` is the `job_type`, and `target.args` the `payload`.",
        requests={
            "on weekdays": _REPORT,
            "once": {"job_type": "report", "frequency": "ONCE", "schedule": "2099-01-01T08:00:00Z"},
        },
        problems=("conflict", "over-quota"),
        headers=("Location",),
    ),
    "GET /job": Operation(
        id="simple.list",
        description="With `job_type` a page may end before its `limit`: go on while there is a `next_cursor`.",
    ),
    "PUT /job/update": Operation(
        id="simple.update",
        description=(
            "Without a `name` it keeps its own, and what these endpoints have no word for stays as it is. A job that makes an HTTP call is "
            "refused."
        ),
        requests={
            "an hour later": {"job_id": "job_01h455vb4pex5vsknk084sn02q", **_REPORT, "schedule": "30 10 * * 1-5"}
        },
        problems=("conflict", "not-found"),
    ),
    "DELETE /job/{id}": Operation(id="simple.delete", description="As by `/v1/jobs`."),
}
