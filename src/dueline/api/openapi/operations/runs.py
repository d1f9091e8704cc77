"""Runs and dead letters."""

from __future__ import annotations

from dueline.api.openapi.operation import COUNTED, Operation

_TARGET = {"type": "http", "url": "https://example.com/mail", "body": {"to": "c-17"}}

OPERATIONS = {
    "POST /v1/runs": Operation(
        id="runs.enqueue",
        description=(
            "With a dedupe key one run of the key is there at a time; `on_conflict` says what becomes of a second. `concurrency` and "
            "`rate` need a `key` here, because there is no job to count the runs of."
        ),
        requests={
            "at once": {"target": _TARGET},
            "later, and only once": {
                "target": {"task": "mail.send", "args": {"to": "c-17"}},
                "due_at": "2099-01-01T08:00:00Z",
                "dedupe_key": "mail/c-17",
                "on_conflict": "ignore",
            },
        },
        problems=("conflict", "over-quota"),
        also={200: "Another run of the dedupe key stands for it."},
        headers=("Location", *COUNTED),
    ),
    "GET /v1/runs": Operation(
        id="runs.list",
        description=(
            "Live and finished ones alike. A page looks at a bounded number of runs, so it may end before its `limit`: go on while there "
            "is a `next_cursor`."
        ),
    ),
    "POST /v1/runs/bulk": Operation(
        id="runs.enqueue_at_once",
        description=(
            "Up to 10,000 in one call. What became of each is told in the order of the call; one that is refused leaves the others, "
            "unless `atomic`: then all are written or none, and a refusal names the fields as `runs[3].target.url`."
        ),
        requests={"two runs": {"runs": [{"target": _TARGET}, {"target": {"task": "mail.send"}, "queue": "mail"}]}},
        problems=("conflict", "over-quota"),
        headers=COUNTED,
    ),
    "GET /v1/runs/{id}": Operation(
        id="runs.get", description="One that is live and was started also tells how far it is, where it told so."
    ),
    "POST /v1/runs/{id}/cancel": Operation(
        id="runs.cancel",
        description=(
            "One that has not started is cancelled. One that is under way stays `running` until its worker has ended it; its effect may "
            "have happened. One that has ended is refused."
        ),
        problems=("conflict",),
    ),
    "POST /v1/runs/{id}/retry": Operation(
        id="runs.retry",
        description=(
            "The new run has the old one as its parent, and deals with a dead letter. One that has not ended is refused, and so is one "
            "that succeeded unless `force` is true. With a `key` the same run is always answered."
        ),
        requests={"by the job as it is now": {"version": "latest"}, "only once": {"key": "after-the-fix"}},
        optional_body=True,
        problems=("conflict", "over-quota"),
        headers=("Location", *COUNTED),
    ),
    "GET /v1/runs/{id}/why": Operation(id="runs.why"),
    "GET /v1/dead-letters": Operation(
        id="dead_letters.list",
        description="Trying one again or putting it aside deals with it; the run itself stays in the history as it is.",
    ),
    "POST /v1/dead-letters/redrive": Operation(
        id="dead_letters.redrive_many",
        description=(
            "One call takes up to 1000 of those that match: call again until `left` is 0. A dead letter becomes one run by a `key`, "
            "however often the call is repeated."
        ),
        requests={
            "of one queue, slowly": {"queue": "mail", "rate": 5},
            "only count": {"from": "2026-03-01T00:00:00Z", "dry_run": True},
        },
        problems=("conflict",),
    ),
    "POST /v1/dead-letters/purge": Operation(
        id="dead_letters.purge",
        description="One call takes up to 1000 of those that match: call again until `purged` is 0. `{}` matches all.",
        requests={"of one queue": {"queue": "mail"}},
    ),
    "GET /v1/dead-letters/{id}": Operation(id="dead_letters.get", description="By the id of its run."),
    "DELETE /v1/dead-letters/{id}": Operation(
        id="dead_letters.delete", description="404 when it is none, or was dealt with already."
    ),
    "POST /v1/dead-letters/{id}/redrive": Operation(
        id="dead_letters.redrive",
        description="The same `key` always answers the same run; 404 once it was dealt with otherwise.",
        requests={"with another target": {"target": {"url": "https://example.com/mail/v2"}, "key": "moved"}},
        optional_body=True,
        problems=("conflict",),
        headers=("Location",),
    ),
}
