"""What the document says before its operations: of the API as a whole, and of each noun."""

from __future__ import annotations

from collections.abc import Mapping

INTRODUCTION = "\n\n".join(
    [
        "JSON over HTTP. What exists keeps its name and meaning; new fields and new words in enumerations may be added at any time, so a "
        "client passes over what it does not know.",
        "Every request but those that say otherwise has an API key, as `Authorization: Bearer KEY`: it says whose request it is, and what "
        "it may. A `reader` reads, a `writer` makes and changes jobs and runs, an `operator` brings back what failed, an `admin` makes "
        "keys; each may do what those before it may. What all tenants share takes a key of the tenant `default`. What is another "
        "tenant's is not there: 404. Whose key it is, tells `curl -H 'Authorization: Bearer KEY' http://127.0.0.1:8700/v1/caller`.",
        "Times are RFC 3339 in UTC with milliseconds, and are read with any offset. Durations are ISO 8601; `15m` is read as well. Ids "
        "sort by time. Unknown fields and unknown parameters are refused.",
        'Lists are `{"items": […], "next_cursor": …}`. Pass `next_cursor` on as `cursor`, with the same filters.',
        "Errors are RFC 9457 `application/problem+json`. Their `type` is stable and names what to do next; `errors` names every field "
        "at fault.",
        "A `POST` with an `Idempotency-Key` is carried out once, however often it is sent. With `If-Match` a write takes effect only at "
        "that version.",
    ]
)

TAGS: Mapping[str, str] = {
    "jobs": "A job says what to call, and when.",
    "schedules": "What a schedule means, before a job has it.",
    "calendars": "Days on which the jobs that name them do not run.",
    "runs": "A run is one execution, and has the state. An attempt is one try of it.",
    "dead_letters": "Failed runs that nobody has dealt with yet.",
    "queues": "Where runs wait for workers. A queue is there as soon as somebody names it.",
    "limits": "What a queue, or a host that is called, may have under way and start in a time.",
    "tenants": "Whose jobs and runs they are: their shares and quotas.",
    "workers": "The processes that execute runs, and those that fire schedules.",
    "desk": "Where workers in any language ask for runs and say what became of them.",
    "job_types": "The tasks that workers can carry out.",
    "signing_secret": "What calls to HTTP targets are signed with.",
    "keys": "Who may call, and what for.",
    "events": "What happens to jobs and runs, as it happens.",
    "audits": "What the schedules asked for, against what became of it.",
    "recovery": "What is overdue after an outage, and what becomes of it.",
    "upcoming": "What comes, of all jobs.",
    "forecasts": "The load of the hours to come.",
    "simple": "For programs that know only these: jobs that carry out a job type, in few words. They are the same jobs.",
    "health": "How the process that answers is.",
    "reference": "This document.",
}
