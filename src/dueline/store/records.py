"""Definitions and attempts as the text a row keeps, and rows as the shapes a caller gets."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from dueline.domain.access import ApiKey, KeyRole
from dueline.domain.calendars import Calendar
from dueline.domain.changes import LiveRun
from dueline.domain.gates import Limit, Rate, Scope, Seen
from dueline.domain.ids import BootId, JobId, RunId
from dueline.domain.job import Definition, Job
from dueline.domain.ledger import SkipReason, Unfired, Verdict
from dueline.domain.planning import Position
from dueline.domain.quotas import Quotas
from dueline.domain.requests import AskedRequest, KeptAnswer
from dueline.domain.run import Attempt, Outcome, OutcomeKind, Run
from dueline.domain.schedule import After
from dueline.domain.states import JobState, RunKind, RunState
from dueline.store.calendars import NamedCalendar
from dueline.store.fleet import JobType, Node, Pulse, Role
from dueline.store.shapes import LedgerRow, NewJob, Promoted, Tenant
from dueline.store.standings import AtGate

TAG_SEPARATOR = "\x1f"
"""Tags travel in one text; control characters are refused in tags."""

SHOWN = 10
"""How many of the runs that have the places of a gate are named to somebody who waits for one."""

_encoder = msgspec.json.Encoder()
_definition = msgspec.json.Decoder(Definition)
_calendar = msgspec.json.Decoder(Calendar)
_rates = msgspec.json.Decoder(dict[str, float])
_ROLES = {role.value: role for role in Role}
_quotas = msgspec.json.Decoder(Quotas)
_headers = msgspec.json.Decoder(dict[str, str])
_NO_QUOTAS = Quotas()


def encode_definition(definition: Definition) -> str:
    return _encoder.encode(definition).decode()


def decode_definition(text: str) -> Definition:
    return _definition.decode(text)


class LastAttempt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The attempt with which a run ended, as far as the run's own row does not say it: as a rule that is nothing."""

    token: int | None = None
    """None: as many as there were attempts."""
    outcome: Outcome | None = None
    """None: a success about which there is no more to say."""


_SUCCESS = Outcome(kind=OutcomeKind.SUCCEEDED)
_USUAL_END = LastAttempt()
_records = msgspec.json.Decoder(list[dict[str, Any]])


def encode_attempt(attempt: Attempt) -> str:
    """One attempt. A run's attempts are these, joined by commas, so that a statement can append one."""
    return _encoder.encode(attempt).decode()


def last_attempt(attempt: Attempt) -> LastAttempt:
    outcome = None if attempt.outcome == _SUCCESS else attempt.outcome
    if outcome is None and attempt.token == attempt.attempt:
        return _USUAL_END
    return LastAttempt(token=attempt.token, outcome=outcome)


def encode_last_attempt(attempt: Attempt) -> str:
    """To be appended as that of any other attempt."""
    if attempt.token == attempt.attempt and attempt.outcome == _SUCCESS:
        return "{}"
    return _encoder.encode(last_attempt(attempt)).decode()


def _to_attempts(row: Any) -> tuple[Attempt, ...]:
    """Of a run's row, which says what the record of its last attempt leaves out."""
    records = _records.decode(f"[{row[20]}]")
    if records and "worker" not in records[-1]:
        said = {"attempt": row[15], "token": row[15], "worker": row[17], "claimed_ms": row[12], "started_ms": row[13]}
        said |= {"finished_ms": row[14], "outcome": {"kind": OutcomeKind.SUCCEEDED}}
        records[-1] = said | records[-1]
    return msgspec.convert(records, tuple[Attempt, ...])


def encode_rates(rates: Mapping[str, float]) -> str:
    return _encoder.encode(dict(rates)).decode()


def join_tags(tags: Sequence[str]) -> str:
    return TAG_SEPARATOR.join(tags)


def wrap_tags(tags: Sequence[str]) -> str:
    """Tags as a row of SQLite keeps them: a separator before, between and after, so that `wrap_tags([tag])` is found in it exactly."""
    return f"{TAG_SEPARATOR}{join_tags(tags)}{TAG_SEPARATOR}" if tags else ""


def unwrap_tags(text: str) -> tuple[str, ...]:
    return tuple(text[1:-1].split(TAG_SEPARATOR)) if text else ()


def encode_calendar(calendar: Calendar) -> str:
    return _encoder.encode(calendar).decode()


def to_calendar(row: Any) -> NamedCalendar:
    """tenant, name, calendar, version, updated_ms."""
    return NamedCalendar(
        tenant=row[0], name=row[1], calendar=_calendar.decode(row[2]), version=row[3], updated_ms=row[4]
    )


def to_ledger_row(row: Any) -> LedgerRow:
    """version, from_ms, to_ms, verdict, reason."""
    reason = None if row[4] is None else SkipReason(row[4])
    return LedgerRow(row[0], Unfired(row[1], row[2], Verdict(row[3]), reason))


def to_job(row: Any) -> Job:
    """id, tenant, state, version, definition, next_ms, due_ms, awaiting, runs_left, pause_note, created_ms, updated_ms, since_ms."""
    return Job(
        id=JobId(row[0]),
        tenant=row[1],
        state=JobState(row[2]),
        version=row[3],
        definition=decode_definition(row[4]),
        position=Position(
            next_ms=row[5],
            due_ms=row[6],
            awaiting=None if row[7] is None else RunId(row[7]),
            runs_left=row[8],
        ),
        pause_note=row[9],
        created_ms=row[10],
        updated_ms=row[11],
        since_ms=row[12],
    )


def created_job(job: NewJob, *, created_ms: int) -> Job:
    return Job(
        id=job.id,
        tenant=job.tenant,
        state=JobState.PAUSED if job.paused else JobState.ACTIVE,
        version=1,
        definition=job.definition,
        position=job.position,
        pause_note=None,
        created_ms=created_ms,
        updated_ms=created_ms,
        since_ms=created_ms,
    )


def to_live_run(row: Any) -> LiveRun:
    """id, kind, state, scheduled_ms, due_ms, begun, reason."""
    return LiveRun(
        id=RunId(row[0]),
        kind=RunKind(row[1]),
        state=RunState(row[2]),
        scheduled_ms=row[3],
        due_ms=row[4],
        begun=bool(row[5]),
        reason=row[6],
    )


def to_promoted(near: Sequence[Any]) -> Promoted:
    """Runs that became ready, the earliest first: the id of each, whether it may be claimed by now, its due time, its queue."""
    later: dict[str, int] = {}
    for row in near:
        if not row[1]:
            later.setdefault(row[3], row[2])
    return Promoted(len(near), frozenset(row[3] for row in near if row[1]), later)


def to_node(row: Any, to_names: Callable[[Any], tuple[str, ...]]) -> Node:
    """The columns of `members.sql`, `list`; `to_names` reads several names in one column, which each store keeps in its own way."""
    return Node(
        boot_id=BootId(row[0]),
        role=_ROLES[row[1]],
        host=row[2],
        pid=row[3],
        version=row[4],
        beat=row[5],
        started_ms=row[6],
        expired=bool(row[7]),
        draining=bool(row[8]),
        queues=to_names(row[9]),
        labels=to_names(row[10]),
        tasks=to_names(row[11]),
        slots=row[12],
        busy=row[13],
        rates=_rates.decode(row[14]),
        beat_ms=row[15],
    )


def to_pulse(row: Any) -> Pulse:
    """The columns of `members.sql`, `pulses`."""
    return Pulse(row[0], _ROLES[row[1]], row[2], row[3], row[4], bool(row[5]), bool(row[6]))


def to_job_type(row: Any) -> JobType:
    """name, queue, description, parameters, seen_ms."""
    return JobType(name=row[0], queue=row[1], description=row[2], parameters=row[3], seen_ms=row[4])


def to_run(row: Any, tags: tuple[str, ...]) -> Run:
    """The columns of a run in the order of `reads.sql`; tags are read by the store, which keeps them in its own way."""
    return Run(
        id=RunId(row[0]),
        job_id=None if row[1] is None else JobId(row[1]),
        version=row[2],
        tenant=row[3],
        kind=RunKind(row[4]),
        state=RunState(row[5]),
        queue=row[6],
        priority=row[7],
        tags=tags,
        scheduled_ms=row[9],
        due_ms=row[10],
        created_ms=row[11],
        claimed_ms=row[12],
        started_ms=row[13],
        finished_ms=row[14],
        attempt=row[15],
        lost=row[16],
        worker=row[17],
        reason=row[18],
        parent_id=None if row[19] is None else RunId(row[19]),
        attempts=_to_attempts(row),
    )


def keeps_anew(before: Job, after: Job) -> bool:
    """Whether a job says anew how long it keeps its finished runs. One that says no more is found out when it is looked at."""
    keep_ms = after.definition.retention_ms
    return keep_ms is not None and keep_ms != before.definition.retention_ms


def is_zoned(definition: Definition) -> bool:
    """Whether the job's plan depends on the rules of a time zone, which change now and then."""
    schedule = definition.schedule
    return schedule is not None and schedule.timezone != "UTC"


def delay_ms(definition: Definition) -> int | None:
    """How long after the end of a run the next one comes, for a schedule that counts from there."""
    return definition.schedule.delay_ms if isinstance(definition.schedule, After) else None


def calendar_names(definition: Definition) -> tuple[str, ...]:
    return () if definition.schedule is None else definition.schedule.calendars


def target_type(definition: Definition) -> str:
    """`http` or `task`: the tag of the target, for filters."""
    return str(type(definition.execution.target).__struct_config__.tag)


def limit_row(limit: Limit) -> tuple[Any, ...]:
    """A limit in the order of its table, but for when it was set."""
    rate = limit.rate
    bucket = (None, None, None) if rate is None else (rate.count, rate.period_ms, rate.burst)
    return (limit.scope, limit.name, limit.most, *bucket)


def to_limit(row: Any) -> Limit:
    scope, name, most, count, period_ms, burst, updated_ms = row
    rate = None if count is None else Rate(count, period_ms, burst)
    return Limit(scope=Scope(scope), name=name, most=most, rate=rate, updated_ms=updated_ms)


def encode_quotas(quotas: Quotas) -> str | None:
    return None if quotas == _NO_QUOTAS else _encoder.encode(quotas).decode()


def to_tenant(row: Any) -> Tenant:
    tenant, weight, quotas, updated_ms = row
    decoded = _NO_QUOTAS if quotas is None else _quotas.decode(quotas)
    return Tenant(tenant=tenant, weight=weight, quotas=decoded, updated_ms=updated_ms)


def quota_days(rows: Sequence[Any]) -> dict[str, int]:
    """For how many days tenants keep their finished runs, by their quotas."""
    found = {one.tenant: one.quotas.retention_days for one in map(to_tenant, rows)}
    return {tenant: days for tenant, days in found.items() if days is not None}


def quota_limits(rows: Sequence[Any]) -> list[Limit]:
    """What the quotas of tenants say about runs that would start."""
    found = (one.quotas.limit(one.tenant, updated_ms=one.updated_ms) for one in map(to_tenant, rows))
    return [limit for limit in found if limit is not None]


def to_at_gate(row: Any, under_way: Sequence[Any]) -> AtGate | None:
    """A gate with how many wait there before a run; None where there is no gate."""
    if row is None:
        return None
    name, scope, most, interval_us, burst, full_us, taken, before = row
    seen = Seen(Scope(scope), most, interval_us, burst, full_us, taken)
    return AtGate(name, seen, before, tuple(RunId(one[0]) for one in under_way))


def answer_columns(answer: KeptAnswer) -> tuple[int, str, bytes]:
    """JSON shrinks to a tenth, and a bulk call may be answered by megabytes of it."""
    return answer.status, _encoder.encode(answer.headers).decode(), zlib.compress(answer.body, 1)


def to_asked_request(row: Any) -> AskedRequest:
    digest, about, age_ms, status, headers, body = row
    answer = None if status is None else KeptAnswer(status, _headers.decode(headers), zlib.decompress(body))
    return AskedRequest(digest, about, age_ms, answer)


def new_key_columns(key: ApiKey) -> tuple[Any, ...]:
    return (key.id, key.tenant, key.role, key.name, key.digest, key.expires_ms)


def to_api_key(row: Any) -> ApiKey:
    key_id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms = row
    return ApiKey(
        id=key_id,
        tenant=tenant,
        role=KeyRole(role),
        name=name,
        digest=digest,
        created_ms=created_ms,
        expires_ms=expires_ms,
        revoked_ms=revoked_ms,
    )
