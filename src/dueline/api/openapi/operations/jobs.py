"""Jobs, their occurrences, schedules and calendars."""

from __future__ import annotations

from dueline.api.openapi.operation import COUNTED, Operation

_TARGET = {"type": "http", "url": "https://example.com/reports", "method": "POST", "body": {"kind": "daily"}}
_WEEKDAYS = {
    "name": "daily-report",
    "target": _TARGET,
    "schedule": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
}

OPERATIONS = {
    "POST /v1/jobs": Operation(
        id="jobs.create",
        description=(
            "A job says what to call, and when. Without a schedule it runs only when asked. With `dry_run` nothing is written: 200 with "
            "the job as it would be, or the refusal that it would get."
        ),
        requests={
            "an HTTP call on weekdays": _WEEKDAYS | {"name": "weekdays"},
            "in plain English": {"target": _TARGET, "schedule": "every weekday at 9:00 Europe/Berlin"},
            "a task, at a fixed rate": {
                "target": {"type": "task", "task": "reports.build", "args": {"kind": "daily"}},
                "schedule": {"every": "PT15M"},
                "retry": {"max_attempts": 3, "backoff": "fixed", "base": "PT10S"},
                "timeout": "PT5M",
                "tags": ["reports"],
            },
            "one at a time for each customer": {
                "target": _TARGET | {"body": {"customer": "c-17"}},
                "concurrency": {"limit": 1, "key": "{{body.customer}}"},
                "rate": {"limit": 100, "per": "PT1M", "burst": 20},
            },
        },
        problems=("conflict", "over-quota"),
        also={200: "It would be created; nothing was written, because `dry_run` was asked for."},
        headers=("ETag", "Location"),
    ),
    "GET /v1/jobs": Operation(
        id="jobs.list",
        description=(
            "With `name_prefix` they come in the order of their names. With `q` or `job_type` a page may end before its `limit`: go on "
            "while there is a `next_cursor`."
        ),
    ),
    "POST /v1/jobs/bulk": Operation(
        id="jobs.create_many",
        description=(
            "Up to 10,000 in one call. What became of each is told in the order of the call; one that is refused leaves the others, "
            "unless `atomic`: then all are created or none, and a refusal names the fields as `jobs[3].schedule.cron`."
        ),
        requests={
            "two jobs": {
                "jobs": [
                    {"name": "first-of-many", "target": _TARGET, "schedule": {"every": "PT1H"}},
                    {"name": "second-of-many", "target": _TARGET, "schedule": "0 9 * * *"},
                ],
                "atomic": True,
            }
        },
        problems=("conflict", "over-quota"),
    ),
    "GET /v1/jobs/{id}": Operation(
        id="jobs.get",
        headers=("ETag",),
    ),
    "PUT /v1/jobs/{id}": Operation(
        id="jobs.update",
        description=(
            "What is left out goes back to its default. Runs keep the version that they were created with; occurrences that are not yet "
            "due are planned again. With `dry_run` the answer is the job as it would be."
        ),
        requests={"a new schedule": _WEEKDAYS | {"schedule": {"cron": "30 8 * * 1-5", "timezone": "Europe/Berlin"}}},
        problems=("conflict",),
        headers=("ETag",),
    ),
    "PATCH /v1/jobs/{id}": Operation(
        id="jobs.patch",
        description=(
            "A JSON merge patch (RFC 7396): objects are merged, null goes back to the default, and a text replaces the whole schedule. To "
            "change its kind with an object, set the members of the old one to null."
        ),
        requests={
            "more urgent, and less often": {"priority": 8, "schedule": "every 2 hours"},
            "back to the default": {"retry": None},
        },
        problems=("conflict",),
        headers=("ETag",),
    ),
    "DELETE /v1/jobs/{id}": Operation(
        id="jobs.delete",
        description=(
            "Nothing more is planned, unstarted runs are cancelled, running ones end, the history stays, and the name can be used again."
        ),
    ),
    "POST /v1/jobs/{id}/pause": Operation(
        id="jobs.pause",
        description=(
            "Runs under way end by themselves, waiting ones are held. Asked again without a note, the one that is there stays. A finished "
            "job cannot be paused."
        ),
        requests={"with a note": {"note": "the target is being moved"}},
        optional_body=True,
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/resume": Operation(
        id="jobs.resume",
        description="What was held or missed meanwhile follows the misfire policy. A job that is active stays as it is.",
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/cancel": Operation(
        id="jobs.cancel",
        description=(
            "Nothing more of it is planned or started, and its unstarted runs are cancelled. Those under way end by themselves, unless "
            "`cancel_running` asks them to stop. It stays to be seen, with its history, and its name stays taken until it is deleted: "
            "nothing else can be done with it. One that was cancelled before is answered as it stands. A finished job cannot be cancelled."
        ),
        requests={"with what is under way": {"note": "the shop is closed", "cancel_running": True}},
        optional_body=True,
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/run": Operation(
        id="jobs.run",
        description=(
            "Also while it is paused. The overlap policy and the limits of the job are respected, unless `force` is true. With a dedupe "
            "key one run of the key is there at a time."
        ),
        requests={"beside others": {"force": True}, "once an hour": {"dedupe_key": "hourly", "dedupe_window": "PT1H"}},
        optional_body=True,
        problems=("conflict", "over-quota"),
        also={200: "Another run of the dedupe key stands for it."},
        headers=("Location", *COUNTED),
    ),
    "GET /v1/jobs/{id}/why": Operation(
        id="jobs.why",
        description="In a sentence, with times, names and numbers; `also` has what became of its last runs, where that was no success.",
    ),
    "GET /v1/jobs/{id}/upcoming": Operation(
        id="jobs.coming",
        description="Those that are to fire. Of a paused job, those that would come if it were resumed now.",
    ),
    "GET /v1/jobs/{id}/occurrences": Operation(
        id="jobs.occurrences",
        description="What became of those that are past, and those that come. Every one has exactly one verdict.",
    ),
    "POST /v1/jobs/{id}/skip": Operation(
        id="jobs.skip",
        description="Refused with 422 when there is no such occurrence or it is past.",
        requests={"not at Christmas": {"at": "2099-12-24T09:00:00Z"}},
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/move": Operation(
        id="jobs.move",
        description="Refused with 422 when there is no such occurrence or it is past.",
        requests={"a day earlier": {"at": "2099-12-25T09:00:00Z", "to": "2099-12-24T10:00:00Z"}},
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/restore": Operation(
        id="jobs.restore",
        description="One that was neither left out nor moved is refused with 422.",
        requests={"after all": {"at": "2099-12-24T09:00:00Z"}},
        problems=("conflict",),
        headers=("ETag",),
    ),
    "POST /v1/jobs/{id}/backfill": Operation(
        id="jobs.backfill",
        description=(
            "Behind everything that is on time. The same range asked for again is not written again. More occurrences than `cap` are "
            "refused."
        ),
        requests={
            "tell what would run": {"from": "2026-03-01T00:00:00Z", "to": "2026-03-03T00:00:00Z", "dry_run": True},
            "run them": {"from": "2026-03-01T00:00:00Z", "to": "2026-03-03T00:00:00Z", "cap": 10, "rate": 0.5},
        },
        problems=("conflict", "over-quota"),
        also={200: "It would run them; nothing was written, because `dry_run` was asked for."},
    ),
    "POST /v1/schedules/preview": Operation(
        id="schedules.preview",
        description="Nothing is written. With `job_id` it is compared with the schedule of that job.",
        requests={
            "a time that does not exist": {
                "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
                "from": "2026-03-28T12:00:00Z",
                "count": 3,
            },
            "in plain English": {"schedule": "every weekday at 9:00", "timezone": "Europe/Berlin"},
        },
    ),
    "PUT /v1/calendars/{name}": Operation(
        id="calendars.put",
        description="The jobs that name it are planned by it from now on; what is past stays as it was.",
        requests={
            "weekends and Christmas": {"dates": ["12-25", "2026-12-24/2027-01-01"], "weekdays": ["SAT", "SUN"]},
        },
    ),
    "GET /v1/calendars": Operation(id="calendars.list"),
    "GET /v1/calendars/{name}": Operation(id="calendars.get"),
    "DELETE /v1/calendars/{name}": Operation(
        id="calendars.delete", description="Refused while a job names it.", problems=("conflict",)
    ),
}
