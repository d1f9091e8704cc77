"""One delivery of a run, as it is read from the headers of a call or from the context of a task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Protocol, Self

import msgspec

from dueline.domain.errors import Invalid
from dueline.domain.ids import parse_job_id, parse_run_id
from dueline.domain.instants import parse_instant, to_datetime
from dueline.inbox.errors import MalformedHeader, MissingHeader

RUN = "dueline-run"
JOB = "dueline-job"
ATTEMPT = "dueline-attempt"
TOKEN = "dueline-token"
SCHEDULED_AT = "dueline-scheduled-at"
TENANT = "dueline-tenant"
WEBHOOK_ID = "webhook-id"
WEBHOOK_TIMESTAMP = "webhook-timestamp"
WEBHOOK_SIGNATURE = "webhook-signature"
_NAMES = frozenset([RUN, JOB, ATTEMPT, TOKEN, SCHEDULED_AT, TENANT, WEBHOOK_ID, WEBHOOK_TIMESTAMP, WEBHOOK_SIGNATURE])

_NUMBER = re.compile(r"[0-9]{1,18}")
"""What fits the 64 bits of a database, written as Dueline writes it."""


class NamedValues(Protocol):
    """A mapping of headers, such as every framework has one."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


Headers = NamedValues | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]]


class TaskContext(Protocol):
    """What a delivery needs of the context of a task."""

    @property
    def run_id(self) -> str: ...
    @property
    def token(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def scheduled_at(self) -> datetime: ...
    @property
    def tenant(self) -> str: ...
    @property
    def job_id(self) -> str | None: ...


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt of a run, as it reached its receiver. Of a signed delivery only the run and the body are signed."""

    run_id: str
    """The same for all attempts of a run, and of no other."""
    token: int
    """Only grows: of two deliveries of a run, the higher token is of the later owner."""
    attempt: int
    scheduled_at: datetime
    tenant: str
    job_id: str | None = None
    """None for a run that was enqueued without a job."""

    @classmethod
    def of(cls, context: TaskContext) -> Self:
        """The delivery that a task is carrying out."""
        return cls(
            run_id=context.run_id,
            token=context.token,
            attempt=context.attempt,
            scheduled_at=context.scheduled_at,
            tenant=context.tenant,
            job_id=context.job_id,
        )


def read_headers(headers: Headers) -> dict[str, str]:
    """The headers that Dueline sends, by their names in lower case. One that is there twice could be read in two ways, and is refused."""
    pairs = headers.items() if hasattr(headers, "items") else headers
    found: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name = _text(raw_name).lower()
        if name not in _NAMES:
            continue
        if name in found:
            raise MalformedHeader(name, "is there twice")
        found[name] = _text(raw_value).strip()
    return found


def read_delivery(found: Mapping[str, str]) -> Delivery:
    run_id, job_id = required(found, RUN), found.get(JOB)
    try:
        parse_run_id(run_id, field=RUN)
        if job_id is not None:
            parse_job_id(job_id, field=JOB)
        scheduled_ms = parse_instant(required(found, SCHEDULED_AT), field=SCHEDULED_AT)
    except Invalid as error:
        raise MalformedHeader(*error.problems[0]) from None
    return Delivery(
        run_id=run_id,
        token=number(found, TOKEN),
        attempt=number(found, ATTEMPT),
        scheduled_at=to_datetime(scheduled_ms),
        tenant=required(found, TENANT),
        job_id=job_id,
    )


def required(found: Mapping[str, str], name: str) -> str:
    if name not in found:
        raise MissingHeader(name)
    return found[name]


def number(found: Mapping[str, str], name: str) -> int:
    text = required(found, name)
    if not _NUMBER.fullmatch(text):
        raise MalformedHeader(name, "is not a number")
    return int(text)


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
