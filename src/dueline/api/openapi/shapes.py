"""What texts and numbers may be, where their types say no more than that they are texts and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.parameters import JOB_ID, KEY_ID, PLACE_NAME, RUN_ID
from dueline.domain import limits
from dueline.domain.job import PRIORITIES
from dueline.domain.previews import FIRES_MAX
from dueline.domain.states import TERMINAL, RunState
from dueline.wire.labels import RATE_MIN
from dueline.wire.tenants import QUOTAS_MOST

REF = "#/components/schemas/{name}"

SHARED: Mapping[str, dict[str, Any]] = {
    "Instant": {
        "type": "string",
        "format": "date-time",
        "description": "An RFC 3339 time. It is told in UTC with milliseconds, and read with any offset.",
        "examples": ["2026-03-29T01:30:00.000Z"],
    },
    "Duration": {
        "type": "string",
        "description": "An ISO 8601 duration without months and years. `15m` and `1h30m` are read as well.",
        "examples": ["PT15M", "P1DT2H", "15m"],
    },
}

INSTANTS = frozenset(
    {
        *("at", "from", "to", "now", "utc", "next", "overdue_since", "added", "removed"),
        *("start_at", "end_at", "due_at", "next_due_at", "next_eligible_at", "oldest_due_at", "scheduled_at"),
        *("created_at", "updated_at", "claimed_at", "started_at", "finished_at", "failed_at", "heard_at", "beat_at"),
        *("seen_at", "rotated_at", "expires_at", "revoked_at", "drained_at", "missed_at", "doubled_at"),
    }
)
DURATIONS = frozenset(
    {
        *(
            "timeout",
            "run_timeout",
            "expires_after",
            "retention",
            "connect_timeout",
            "base",
            "RetryForm.cap",
            "delays",
            "max_elapsed",
        ),
        *("window", "per", "dedupe_window", "jitter", "after", "lease", "beat", "wait", "retry_after", "delay"),
    }
)
"""Fields that hold one, by name; a type in front where others of the name hold something else."""


def _between(least: float, most: float) -> dict[str, Any]:
    return {"minimum": least, "maximum": most}


NUMBERS: Mapping[str, dict[str, Any]] = {
    "priority": _between(PRIORITIES[0], PRIORITIES[-1]),
    "max_attempts": _between(1, limits.ATTEMPTS_MAX),
    "max_lost": _between(1, limits.LOST_ASKED_MAX),
    "MisfireForm.cap": _between(1, limits.MISFIRE_CAP_MAX),
    "BackfillInput.cap": _between(1, limits.BACKFILL_RUNS_MAX),
    "BackfillInput.rate": _between(RATE_MIN, limits.BACKFILL_RATE_MAX),
    "RecoveryInput.rate": _between(RATE_MIN, limits.BACKFILL_RATE_MAX),
    "BulkRedriveInput.rate": _between(RATE_MIN, limits.REDRIVE_RATE_MAX),
    "concurrency": _between(1, limits.CONCURRENCY_MAX),
    "ConcurrencyForm.limit": _between(1, limits.CONCURRENCY_MAX),
    "RateForm.limit": _between(1, limits.RATE_LIMIT_MAX),
    "StartRateForm.limit": _between(1, limits.RATE_LIMIT_MAX),
    "burst": _between(1, limits.RATE_LIMIT_MAX),
    "max_runs": _between(1, limits.MAX_RUNS_MAX),
    "PreviewInput.count": _between(1, FIRES_MAX),
    "LeaseInput.limit": _between(0, limits.CLAIM_BATCH),
    "ResultForm.status": _between(100, 999),
    "ProgressForm.progress": _between(0, 1),
    "TenantInput.weight": _between(limits.WEIGHT_MIN, limits.WEIGHT_MAX),
    **{f"QuotasForm.{name}": _between(1, most) for name, most in QUOTAS_MOST.items()},
}

_NAME = {"minLength": 1, "maxLength": limits.NAME_LETTERS_MAX}
TEXTS: Mapping[str, dict[str, Any]] = {
    "JobInput.name": _NAME,
    "NewJobInput.name": _NAME,
    "SimpleJobInput.name": _NAME,
    "SimpleUpdateInput.name": _NAME,
    "KeyInput.name": {"maxLength": limits.NAME_LETTERS_MAX},
    "KeyInput.tenant": {"pattern": PLACE_NAME},
    "JobInput.queue": {"pattern": PLACE_NAME},
    "NewJobInput.queue": {"pattern": PLACE_NAME},
    "AdhocInput.queue": {"pattern": PLACE_NAME},
    "MatchInput.queue": {"pattern": PLACE_NAME},
    "BulkRedriveInput.queue": {"pattern": PLACE_NAME},
    "OfferForm.queue": {"pattern": PLACE_NAME},
    "fairness_key": {"maxLength": limits.KEY_LETTERS_MAX},
    "tags": {"minLength": 1, "maxLength": limits.TAG_LETTERS_MAX},
    "requires": {"pattern": PLACE_NAME},
    "calendars": {"pattern": PLACE_NAME},
    "PauseInput.note": {"maxLength": limits.NOTE_LETTERS_MAX},
    "dedupe_key": {"minLength": 1, "maxLength": limits.KEY_LETTERS_MAX},
    "RedriveInput.key": {"minLength": 1, "maxLength": limits.KEY_LETTERS_MAX},
    "RetryInput.key": {"minLength": 1, "maxLength": limits.KEY_LETTERS_MAX},
    "BulkRedriveInput.key": {"minLength": 1, "maxLength": limits.KEY_LETTERS_MAX},
    "TargetForm.url": {"maxLength": limits.URL_LETTERS_MAX},
    "job_id": {"pattern": JOB_ID},
    "run_id": {"pattern": RUN_ID},
    "RunView.id": {"pattern": RUN_ID},
    "JobView.id": {"pattern": JOB_ID},
    "RunEventView.id": {"pattern": RUN_ID},
    "JobEventView.id": {"pattern": JOB_ID},
    "KeyView.id": {"pattern": KEY_ID},
    "NewKeyView.id": {"pattern": KEY_ID},
    "key_id": {"pattern": KEY_ID},
    "NotifyForm.on": {"enum": [state.value for state in RunState if state in TERMINAL]},
    "NotifyForm.url": {"maxLength": limits.URL_LETTERS_MAX},
    "ResultForm.id": {"pattern": RUN_ID},
    "GivenBackForm.id": {"pattern": RUN_ID},
    "ProgressForm.id": {"pattern": RUN_ID},
    "parent_run_id": {"pattern": RUN_ID},
    "other_run_id": {"pattern": RUN_ID},
}

LISTS: Mapping[str, dict[str, Any]] = {
    "BulkJobsInput.jobs": {"minItems": 1, "maxItems": limits.JOBS_PER_CALL_MAX},
    "BulkRunsInput.runs": {"minItems": 1, "maxItems": limits.RUNS_PER_CALL_MAX},
    "ReportInput.results": {"minItems": 1, "maxItems": limits.FINISH_BATCH},
    "ReleaseInput.runs": {"minItems": 1, "maxItems": limits.FINISH_BATCH},
    "ProgressInput.runs": {"minItems": 1, "maxItems": limits.FINISH_BATCH},
    "NotifyForm.on": {"minItems": 1},
    "tags": {"maxItems": limits.TAGS_MAX, "uniqueItems": True},
    "requires": {"maxItems": limits.LABELS_MAX, "uniqueItems": True},
    "calendars": {"maxItems": limits.CALENDARS_PER_SCHEDULE_MAX, "uniqueItems": True},
}

EXAMPLES: Mapping[str, list[Any]] = {
    "ScheduleForm": [
        {"at": "2026-03-29T01:30:00Z"},
        {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"},
        {"calendar": {"hour": 9, "days_of_week": "MON-FRI"}},
        {"every": "PT15M"},
        {"after": "PT15M"},
        {"repeat": "R5/2026-01-31T00:00:00Z/P1M"},
        {"rrule": "FREQ=MONTHLY;BYDAY=-1FR"},
        {"text": "every weekday at 9:00"},
    ],
    "TargetForm": [
        {"type": "http", "url": "https://example.com/reports", "method": "POST", "body": {"kind": "daily"}},
        {"type": "task", "task": "reports.build", "args": {"kind": "daily"}},
    ],
}


def shaped(name: str, field: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field with all that is known of what it may hold."""
    for names, shared in ((INSTANTS, "Instant"), (DURATIONS, "Duration")):
        if field in names or f"{name}.{field}" in names:
            return _within(schema, ("string",), {"$ref": REF.format(name=shared)}, whole=True)
    for table, kinds in ((TEXTS, ("string",)), (NUMBERS, ("integer", "number")), (LISTS, ("array",))):
        more = table.get(f"{name}.{field}") or table.get(field)
        if more is not None:
            schema = _within(schema, kinds, more)
    return schema


def _within(
    schema: dict[str, Any], kinds: tuple[str, ...], more: dict[str, Any], *, whole: bool = False
) -> dict[str, Any]:
    """The schema with `more` at every place of one of the types: added to what stands there, or in place of it."""
    if schema.get("type") in kinds:
        return {**{key: value for key, value in schema.items() if not (whole and key == "type")}, **more}
    found = dict(schema)
    if "anyOf" in schema:
        found["anyOf"] = [_within(option, kinds, more, whole=whole) for option in schema["anyOf"]]
    if schema.get("type") == "array" and "items" in schema:
        found["items"] = _within(schema["items"], kinds, more, whole=whole)
    return found
