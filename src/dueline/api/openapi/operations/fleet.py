"""Queues, limits, tenants, workers, and the desk for workers in any language."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

_RUN = "run_01h455vb4pex5vsknk084sn02q"

OPERATIONS = {
    "GET /v1/queues": Operation(
        id="queues.list",
        description="All live runs are counted for it, so ask every few seconds and not more often.",
    ),
    "GET /v1/queues/{name}": Operation(id="queues.get", description="One that nobody has named yet is empty."),
    "POST /v1/queues/{name}/pause": Operation(
        id="queues.pause",
        description=(
            "Schedules go on and their runs wait; those under way end by themselves. Asked again without a note, the one that is there "
            "stays."
        ),
        requests={"with a note": {"note": "the mail server is down"}},
        optional_body=True,
    ),
    "POST /v1/queues/{name}/resume": Operation(
        id="queues.resume", description="One that is not paused stays as it is."
    ),
    "GET /v1/queues/{name}/shares": Operation(
        id="queues.shares",
        description="Everybody who has runs ready in it or got some lately, those who got most first.",
    ),
    "GET /v1/limits": Operation(id="limits.list"),
    "GET /v1/limits/{scope}/{name}": Operation(id="limits.get"),
    "PUT /v1/limits/{scope}/{name}": Operation(
        id="limits.put",
        description="`concurrency`, `rate`, or both, in place of all that was set before. Every worker keeps to it within five seconds.",
        requests={"ten at a time, 50 a second": {"concurrency": 10, "rate": {"limit": 50, "per": "PT1S", "burst": 1}}},
    ),
    "DELETE /v1/limits/{scope}/{name}": Operation(
        id="limits.delete", description="Whoever waited becomes ready within seconds."
    ),
    "GET /v1/tenants": Operation(id="tenants.list"),
    "GET /v1/tenants/{tenant}": Operation(
        id="tenants.get", description="One that nobody has named yet has the defaults."
    ),
    "PUT /v1/tenants/{tenant}": Operation(
        id="tenants.put",
        description="What is left out goes back to its default. What is set is in effect everywhere within five seconds.",
        requests={"twice the share, and bounds": {"weight": 2.0, "quotas": {"jobs": 1000, "running": 50}}},
    ),
    "PATCH /v1/tenants/{tenant}": Operation(
        id="tenants.patch",
        description="A JSON merge patch (RFC 7396): what is absent stays, null lifts a quota.",
        requests={"lift one quota": {"quotas": {"running": None}}},
        problems=("conflict",),
    ),
    "GET /v1/workers": Operation(id="workers.list"),
    "GET /v1/workers/{id}": Operation(id="workers.get"),
    "POST /v1/workers/{id}/drain": Operation(
        id="workers.drain",
        description="It hands over its shards, gives back the runs that it has not started, ends those that it has, and stops.",
    ),
    "POST /v1/worker/register": Operation(
        id="desk.register",
        description="Who does not beat for as long as `lease` is declared dead, so beat every `beat`.",
        requests={
            "a worker with one task": {
                "queues": ["mail"],
                "slots": 4,
                "tasks": [{"name": "mail.send", "queue": "mail", "description": "Send a mail."}],
                "host": "worker-1",
                "pid": 4711,
            }
        },
        optional_body=True,
    ),
    "POST /v1/worker/{id}/heartbeat": Operation(
        id="desk.heartbeat",
        description="Runs to break off are told until they are reported.",
        requests={"at work": {"busy": 2, "rates": {"mail": 1.5}}},
        optional_body=True,
        problems=("lease-lost",),
    ),
    "POST /v1/worker/{id}/lease": Operation(
        id="desk.lease",
        description="A worker that drains, or has not beaten in time, gets none.",
        requests={"up to ten, without waiting": {"limit": 10, "wait": "PT0S"}},
        optional_body=True,
        problems=("lease-lost",),
    ),
    "POST /v1/worker/{id}/report": Operation(
        id="desk.report",
        description="Of up to 1,000 runs, each once. They are judged by their tokens alone.",
        requests={
            "one that went well": {
                "results": [{"id": _RUN, "token": 1, "outcome": "succeeded", "result": {"sent": 3}}],
            },
            "one to try again": {
                "results": [
                    {"id": _RUN, "token": 1, "outcome": "errored", "error": "mailbox full", "retry_after": "PT10M"}
                ],
            },
        },
    ),
    "POST /v1/worker/{id}/release": Operation(
        id="desk.release",
        description="It costs no attempt. With `delay` and `reason` a run comes later.",
        requests={"one run": {"runs": [{"id": _RUN, "token": 1}]}},
    ),
    "POST /v1/worker/{id}/progress": Operation(
        id="desk.progress",
        description="What is left out stays as it was.",
        requests={
            "halfway": {
                "runs": [{"id": _RUN, "token": 1, "progress": 0.4, "note": "page 4", "checkpoint": {"page": 4}}],
            }
        },
    ),
    "DELETE /v1/worker/{id}": Operation(
        id="desk.leave",
        description="What it still holds counts as lost and goes to others; give it back before.",
        problems=("lease-lost",),
    ),
    "GET /v1/job-types": Operation(id="job_types.list"),
    "GET /v1/job-types/{name}": Operation(
        id="job_types.get", description="404 names those that are spelt nearly so. A name may hold slashes."
    ),
}
