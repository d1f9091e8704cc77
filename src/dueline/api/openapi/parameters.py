"""Parameters in the query, in the path and in headers: what they take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from dueline.api.routes import ApiRoute
from dueline.domain import limits
from dueline.domain.events import OF_ONE_RUN, EventType
from dueline.domain.gates import Scope
from dueline.domain.planning import MisfirePolicy
from dueline.domain.states import JobState, RunKind, RunState
from dueline.wire.forecasts import HOURS_DEFAULT
from dueline.wire.labels import RATE_MIN
from dueline.wire.limits import SCOPES

JOB_ID = "^job_[0-7][0-9a-hjkmnp-tv-z]{25}$"
RUN_ID = "^run_[0-7][0-9a-hjkmnp-tv-z]{25}$"
PLACE_NAME = f"^[A-Za-z0-9._-]{{1,{limits.QUEUE_LETTERS_MAX}}}$"
KEY_ID = "^([a-z2-7]{16}|given-[0-9a-f]{16})$"
DURATION = {"$ref": "#/components/schemas/Duration"}
INSTANT = {"$ref": "#/components/schemas/Instant"}

_KEY = r'^("[ !#-\[\]-~]+"|[!#-~][ -~]*)$'
_PLACE = re.compile(r"\{(\w+)\}")
_TEXT = {"type": "string"}


class Parameter(NamedTuple):
    description: str
    schema: Mapping[str, Any] = _TEXT
    example: Any = None


def _one_of(kind: type[StrEnum]) -> dict[str, Any]:
    return {"type": "string", "enum": [member.value for member in kind]}


_FROM = Parameter("At or after.", INSTANT, "2026-03-29T00:00:00Z")
_TO = Parameter("Before.", INSTANT, "2026-03-30T00:00:00Z")
_JOB = Parameter("Of this job.", {"type": "string", "pattern": JOB_ID}, "job_01h455vb4pex5vsknk084sn02q")
_RUN = Parameter("Of this run.", {"type": "string", "pattern": RUN_ID}, "run_01h455vb4pex5vsknk084sn02q")
_CURSOR = Parameter("The `next_cursor` of the page before, with the same filters.")

QUERY: Mapping[str, Parameter] = {
    "limit": Parameter(
        f"How many on a page; brought into the bounds 1 and {limits.PAGE_ROWS_MAX}.",
        {"type": "integer", "default": limits.PAGE_ROWS_DEFAULT},
        20,
    ),
    "cursor": _CURSOR,
    "events.follow/cursor": _CURSOR._replace(
        description="The `id` of an event, or a `next_cursor`: what follows it is told."
    ),
    "runs.events/cursor": _CURSOR._replace(
        description="The `id` of an event, or a `next_cursor`: what follows it is told."
    ),
    "dry_run": Parameter(
        "Whether nothing is to be written: the answer is the one that it would get.",
        {"type": "boolean", "default": False},
        True,
    ),
    "state": Parameter("In this state.", _one_of(RunState), "failed"),
    "jobs.list/state": Parameter("In this state.", _one_of(JobState), "active"),
    "kind": Parameter("Of this kind.", _one_of(RunKind), "manual"),
    "queue": Parameter("Of this queue.", example="default"),
    "tag": Parameter("With this tag.", example="reports"),
    "target_type": Parameter("With a target of this type.", {"type": "string", "enum": ["http", "task"]}, "http"),
    "name_prefix": Parameter("Whose name begins so.", example="daily-"),
    "runs.list/q": Parameter(
        f"That have all of these words, up to {limits.SEARCH_WORDS_MAX}, in their errors, their reasons, and the names of their jobs.",
        {"type": "string", "maxLength": limits.NAME_LETTERS_MAX},
        "answered 503",
    ),
    "q": Parameter(
        f"That have all of these words, up to {limits.SEARCH_WORDS_MAX}, in their names, tags, and URL or task. Not beside `name_prefix`.",
        {"type": "string", "maxLength": limits.NAME_LETTERS_MAX},
        "report example.com",
    ),
    "job_id": _JOB,
    "job_name": Parameter("Of the living job of this name; not beside `job_id`.", example="daily-report"),
    "run_id": _RUN,
    "type": Parameter(
        "Only such.",
        {"type": "string", "enum": [kind.value for kind in EventType if kind not in OF_ONE_RUN]},
        "run.failed",
    ),
    "wait": Parameter(
        "How long a page may wait for something to tell, up to 30 s; not at all without it. A stream always waits.",
        DURATION,
        "PT10S",
    ),
    "against": Parameter(
        "The other version; without it the one before.",
        {"type": "integer", "minimum": 1, "maximum": limits.VERSION_MAX},
        2,
    ),
    "tenant": Parameter(
        "Of this tenant; of the caller's without it. Those of another take a key of the tenant `default`.",
        {"type": "string", "pattern": PLACE_NAME},
        "acme",
    ),
    "status": Parameter("In this state.", _one_of(JobState), "active"),
    "job_type": Parameter("Of this job type.", example="report"),
    "reason": Parameter("Whose run has this reason.", example="run_timeout"),
    "from": _FROM,
    "to": _TO,
    "jobs.occurrences/from": _FROM._replace(description="At or after; a day ago without it. Before the year 9000."),
    "jobs.occurrences/to": _TO._replace(description="Before; without it the list goes on and on."),
    "upcoming.list/from": _FROM._replace(
        description="At or after; now without it, and where it is past.", example="2099-03-29T00:00:00Z"
    ),
    "upcoming.list/to": _TO._replace(
        description="Before; a day after `from` without it.", example="2099-03-30T00:00:00Z"
    ),
    "runs.list/from": _FROM._replace(description="Scheduled at or after."),
    "runs.list/to": _TO._replace(description="Scheduled before."),
    "dead_letters.list/from": _FROM._replace(description="Failed at or after."),
    "dead_letters.list/to": _TO._replace(description="Failed before."),
    "audits.list/from": _FROM._replace(description="Due at or after; a day before `to` without it."),
    "audits.list/to": _TO._replace(description="Due before; now without it."),
    "policy": Parameter("For all jobs, in place of their own.", _one_of(MisfirePolicy), "fire_once"),
    "rate": Parameter(
        "Missed runs that may start in a second.",
        {
            "type": "number",
            "minimum": RATE_MIN,
            "maximum": limits.BACKFILL_RATE_MAX,
            "default": limits.RECOVERY_RATE_DEFAULT,
        },
        20,
    ),
    "hours": Parameter(
        "How far to look.",
        {"type": "integer", "minimum": 1, "maximum": limits.FORECAST_HOURS_MAX, "default": HOURS_DEFAULT},
        24,
    ),
}

PATH: Mapping[str, Parameter] = {
    "/v1/jobs/{id}": _JOB._replace(description="The id of the job."),
    "/v1/jobs/by-name/{name}": Parameter(
        "The name of the job.",
        {"type": "string", "minLength": 1, "maxLength": limits.NAME_LETTERS_MAX},
        "daily-report",
    ),
    "/v1/jobs/{id}/versions/{version}": Parameter(
        "The number of the version.", {"type": "integer", "minimum": 1, "maximum": limits.VERSION_MAX}, 1
    ),
    "/job/{id}": _JOB._replace(description="The id of the job."),
    "/v1/keys/{id}": Parameter("The id of the key.", {"type": "string", "pattern": KEY_ID}, "mfrggzdfmztwq2lk"),
    "/v1/runs/{id}": _RUN._replace(description="The id of the run."),
    "/v1/dead-letters/{id}": _RUN._replace(description="The id of the run that failed."),
    "/v1/calendars/{name}": Parameter(
        "The name of the calendar.", {"type": "string", "pattern": PLACE_NAME}, "holidays"
    ),
    "/v1/queues/{name}": Parameter("The name of the queue.", {"type": "string", "pattern": PLACE_NAME}, "mail"),
    "/v1/limits/{scope}": Parameter(
        "What has the limit.", {"type": "string", "enum": [scope.value for scope in SCOPES]}, Scope.QUEUE.value
    ),
    "/v1/limits/{scope}/{name}": Parameter(
        "The name of the queue, or the host as it stands in URLs, with its port if it stands there too.",
        example="mail",
    ),
    "/v1/tenants/{tenant}": Parameter("The name of the tenant.", {"type": "string", "pattern": PLACE_NAME}, "default"),
    "/v1/workers/{id}": Parameter(
        "The id of this start of the process.", {"type": "string", "minLength": 1}, "01h455vb4pex5vsknk084sn02q"
    ),
    "/v1/worker/{id}": Parameter(
        "The id that it got when it registered.", {"type": "string", "minLength": 1}, "01h455vb4pex5vsknk084sn02q"
    ),
    "/v1/job-types/{name}": Parameter("The name of the task.", {"type": "string", "minLength": 1}, "mail.send"),
}
"""By the path up to the parameter."""

HEADERS: Mapping[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": (
            "A key of the request's own, bare or in double quotes. Sent again with the same key within 24 hours, it is carried out once, "
            "and answered as the first time. With another path, query or body the key is refused."
        ),
        "schema": {"type": "string", "pattern": _KEY, "maxLength": limits.REQUEST_KEY_LETTERS_MAX + len('""')},
        "example": "5f0c9c1e-6b1d-4c62-9d0f-1f2a7f3e8f11",
    },
    "If-Match": {
        "name": "If-Match",
        "in": "header",
        "description": "The `ETag` that was read: the write takes effect only at that version, otherwise 412. `*` is any.",
        "schema": {"type": "string", "pattern": r'^("v[1-9][0-9]{0,8}"|\*)$'},
        "example": '"v3"',
    },
    "If-None-Match": {
        "name": "If-None-Match",
        "in": "header",
        "description": "`*`: write only where there is none, otherwise 412.",
        "schema": {"type": "string", "enum": ["*"]},
        "example": "*",
    },
    "Last-Event-ID": {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The `id` of the last event that was heard, in place of `cursor`: browsers send it when they come back.",
        "schema": {"type": "string"},
    },
    "X-Request-Id": {
        "name": "X-Request-Id",
        "in": "header",
        "description": (
            "What the caller calls this request, in 1 to 128 of `A-Z a-z 0-9 . _ : / + = @ -`. The answer, a problem and the log repeat "
            "it; anything else is passed over, and it gets a name of its own."
        ),
        "schema": {"type": "string"},
        "example": "checkout-17",
    },
}

ANSWER_HEADERS: Mapping[str, dict[str, Any]] = {
    "X-Request-Id": {"description": "What the request is called in the log.", "required": True, "schema": _TEXT},
    "ETag": {"description": 'The version of the job, `"v3"`, for `If-Match`.', "schema": _TEXT},
    "Location": {"description": "The path of what was created.", "schema": _TEXT},
    "Idempotent-Replayed": {
        "description": "`true` where the request was carried out before, and this is its answer.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "RateLimit-Policy": {
        "description": "The quota that this counts against, how many it is (`q`), and in how many seconds (`w`).",
        "schema": _TEXT,
    },
    "RateLimit": {
        "description": "How many of it are left (`r`), and in how many seconds all are there again (`t`).",
        "schema": _TEXT,
    },
    "WWW-Authenticate": {"description": "How a key is sent: `Bearer`.", "required": True, "schema": _TEXT},
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "string", "pattern": "^[0-9]+$"}},
}


def path_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    """Those that stand in the path, in their order."""
    found = []
    for place in _PLACE.finditer(route.path):
        told = PATH[route.path[: place.end()]]
        found.append(_written(place[1], "path", told) | {"required": True})
    return found


def query_parameters(route: ApiRoute, operation_id: str) -> list[dict[str, Any]]:
    """Those of the query. One that an operation takes in a way of its own is told so."""
    return [_written(name, "query", QUERY.get(f"{operation_id}/{name}") or QUERY[name]) for name in route.query]


def _written(name: str, place: str, told: Parameter) -> dict[str, Any]:
    written: dict[str, Any] = {"name": name, "in": place, "description": told.description, "schema": dict(told.schema)}
    return written if told.example is None else written | {"example": told.example}
