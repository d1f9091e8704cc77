"""A job: its definition, which people write and which has versions, and its state, which the engine keeps."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.gates import Rate
from dueline.domain.ids import JobId
from dueline.domain.lanes import lane_of
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Misfire, Position
from dueline.domain.retry import RetryPolicy
from dueline.domain.schedule import Schedule
from dueline.domain.states import JobState, RunState
from dueline.domain.statuses import Statuses
from dueline.domain.uniqueness import Dedupe

DEFAULT_TENANT = "default"
DEFAULT_QUEUE = "default"
DEFAULT_PRIORITY = 5
PRIORITIES = range(10)
KEPT_BY_DEFAULT = ("content-type", "location", "retry-after")
"""Response headers that are kept unless a target names others: what an HTTP client knows without looking at every line."""


class Delivery(StrEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


class Tls(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whom to trust: the system's authorities, or `ca` (certificates as PEM) in their place."""

    verify: bool = True
    ca: str | None = None


class HttpTarget(msgspec.Struct, frozen=True, kw_only=True, tag="http", omit_defaults=True, gc=False):
    """An HTTP call. The body is sent as it stands: text as text, bytes as bytes, anything else as JSON.

    URL, headers and bodies other than bytes may be templates. None and empty mean the default of whoever makes the call.
    """

    url: str
    method: str = "POST"
    headers: dict[str, str] = {}
    body: Any = None
    body_bytes: bytes | None = None
    connect_timeout_ms: int | None = None
    expected_status: Statuses = ()
    """The statuses that are a success; empty: 2xx."""
    keep_headers: tuple[str, ...] | None = None
    """Names of response headers to keep, in lower case; None: `KEPT_BY_DEFAULT`."""
    tls: Tls | None = None
    sign: bool = True
    """Whether calls are signed, where the tenant has a secret."""


class TaskTarget(msgspec.Struct, frozen=True, kw_only=True, tag="task", omit_defaults=True, gc=False):
    """A task that workers know by its name, with its arguments by theirs."""

    task: str
    args: dict[str, Any] = {}


Target = HttpTarget | TaskTarget

_encoder = msgspec.json.Encoder()


def payload_of(target: Target) -> tuple[str, bytes]:
    """What is sent along, as it counts against bounds, with the name that people give it."""
    if isinstance(target, TaskTarget):
        return "args", _encoder.encode(target.args) if target.args else b""
    if target.body_bytes is not None:
        return "body_base64", target.body_bytes
    if target.body is None:
        return "body", b""
    return "body", target.body.encode() if isinstance(target.body, str) else _encoder.encode(target.body)


class Concurrency(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many runs may be under way at once: of the job, or of all with the same key."""

    limit: int
    key: str | None = None
    """A text that may have places for what is in the payload; see `keys`."""


class StartRate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many runs may start in a time: of the job, or of all with the same key."""

    rate: Rate
    key: str | None = None


class Notify(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whom to tell of the end of a run: by a call, which is a run of its own."""

    url: str
    on: tuple[RunState, ...]
    """Of which ends."""
    headers: dict[str, str] = {}
    sign: bool = True
    late_after_ms: int | None = None
    """Also of every end that comes later than this after the time that the run was scheduled for."""


class Execution(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """How one run is carried out: all a worker needs to know of a job."""

    target: Target
    retry: RetryPolicy = RetryPolicy()
    timeout_ms: int = limits.TIMEOUT_MS_DEFAULT
    run_timeout_ms: int | None = None
    """The time for the whole run, from its first start on."""
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    expires_after_ms: int | None = None
    """How long after it is due a run may start; later it is expired. None: however late."""
    requires: tuple[str, ...] = ()
    """Labels that its worker must have."""
    concurrency: Concurrency | None = None
    rate: StartRate | None = None
    notify: Notify | None = None

    @property
    def notifies(self) -> bool:
        return self.notify is not None

    @property
    def lane(self) -> str:
        return lane_of(self.requires, task=isinstance(self.target, TaskTarget))

    def expires_ms(self, due_ms: int) -> int | None:
        return None if self.expires_after_ms is None else due_ms + self.expires_after_ms


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What somebody asked for. Every change makes a new version; a run keeps the version it was created with."""

    name: str
    execution: Execution
    schedule: Schedule | None = None
    queue: str = DEFAULT_QUEUE
    priority: int = DEFAULT_PRIORITY
    fairness_key: str = ""
    """What its runs share the tenant's turns by."""
    region: str = ""
    overlap: Overlap = Overlap.SKIP
    misfire: Misfire = Misfire()
    tags: tuple[str, ...] = ()
    retention_ms: int | None = None
    """How long its finished runs are kept, if that is less than its tenant keeps them; None: as long as that."""
    dedupe: Dedupe | None = None
    """What a run of it that somebody asks for must not be beside, unless they say something else."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A definition at its current version, with its state and how far its schedule is decided (see `planning.Position`).

    `since_ms` is when this version came into force.
    """

    id: JobId
    tenant: str
    state: JobState
    version: int
    definition: Definition
    position: Position
    pause_note: str | None
    created_ms: int
    updated_ms: int
    since_ms: int

    @property
    def next_ms(self) -> int | None:
        return self.position.next_ms


class JobVersion(msgspec.Struct, frozen=True, gc=False):
    """One version of a job, as runs pin it."""

    job_id: JobId
    version: int
    tenant: str
    definition: Definition
