"""What workers without a connection to the store ask and are answered."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain.job import DEFAULT_QUEUE
from dueline.domain.run import OutcomeKind
from dueline.domain.states import HeldReason, RunKind
from dueline.wire.targets import TargetView


class OfferForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A task that a worker can carry out. `parameters` is a JSON Schema of its arguments."""

    name: str | UnsetType
    description: str | None = None
    queue: str = DEFAULT_QUEUE
    parameters: dict[str, Any] = {}


class RegisterInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A worker: where it is, which queues it serves (none: all), what it has, and how many runs it takes at a time."""

    host: str = ""
    pid: int = 0
    version: str = ""
    queues: list[str] = []
    labels: list[str] = []
    slots: int = 1
    takes: list[Literal["task", "http"]] = msgspec.field(default_factory=lambda: ["task"])
    tasks: list[OfferForm] = []


class RegisteredView(msgspec.Struct, frozen=True, kw_only=True):
    """`id` stands in the path of every other call. Who does not beat for as long as `lease` is taken for dead."""

    id: str
    lease: str
    beat: str


class HeartbeatInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs it executes, and how many it took lately from each queue, per second."""

    busy: int = 0
    rates: dict[str, float] = {}


class HeldRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run in a worker's hands, with the token that proves it."""

    id: str | UnsetType
    token: int | UnsetType


class CancelView(msgspec.Struct, frozen=True, kw_only=True):
    """A run that the worker executes and that somebody asked to end."""

    id: str
    token: int
    reason: str


class HeartbeatView(msgspec.Struct, frozen=True, kw_only=True):
    """The server's clock, whether the worker is to end in order, and which runs it is to break off."""

    now: str
    drain: bool
    cancels: list[CancelView]


class LeaseInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs, and how long to wait for the first. With `holding`, all that the worker knows to hold, whatever else is its by the
    server's account goes back to the others: an answer was lost."""

    limit: int = 1
    wait: str = "PT0S"
    holding: list[str] | None = None


class LeasedView(msgspec.Struct, frozen=True, kw_only=True):
    """A run to carry out now. The target of an HTTP call is the request as it is to be sent, its body in `body_base64`."""

    id: str
    token: int
    job_id: str | None
    tenant: str
    queue: str
    kind: RunKind
    attempt: int
    scheduled_at: str
    due_at: str
    timeout: str
    target: TargetView
    checkpoint: Any


class LeaseView(msgspec.Struct, frozen=True):
    runs: list[LeasedView]


class ResultForm(HeldRun, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What became of an attempt. Without `outcome`, the `status` of an answer says it. The result of a task may be any JSON. With
    `leaving` a lost one was broken off because the worker ends: that counts neither as failed nor as lost."""

    outcome: OutcomeKind | None = None
    status: int | None = None
    result: Any = None
    error: str | None = None
    retry_after: str | None = None
    headers: dict[str, str] = {}
    started_at: str | None = None
    leaving: bool = False


class ReportInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    results: list[ResultForm] | UnsetType


class GivenBackForm(HeldRun, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that was not started. With `delay` and `reason` it is put off; neither counts as an attempt."""

    delay: str | None = None
    reason: HeldReason | None = None


class ReleaseInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    runs: list[GivenBackForm] | UnsetType


class ProgressForm(HeldRun, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far a run is, from 0 to 1, in words, and from where a next attempt may go on (any JSON)."""

    progress: float | None = None
    note: str | None = None
    checkpoint: Any = UNSET


class ProgressInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    runs: list[ProgressForm] | UnsetType


class AcceptedView(msgspec.Struct, frozen=True, kw_only=True):
    """Those that were still the worker's, and those that were not: ended before, taken away, or cancelled."""

    accepted: list[str]
    refused: list[str]
