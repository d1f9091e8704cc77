"""What a task knows about its run, and what it can say while it is under way."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.instants import to_datetime
from dueline.domain.texts import clean_text
from dueline.tasks.errors import Cancelled
from dueline.wire.reading import decode, encode
from dueline.wire.targets import payload_problem


class RunInfo(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt of a run, as its task is told of it. `checkpoint` is the JSON that an earlier attempt left."""

    run_id: str
    job_id: str | None = None
    attempt: int = 1
    token: int = 0
    scheduled_ms: int = 0
    tenant: str = "default"
    checkpoint: bytes | None = None


class Heartbeat(msgspec.Struct, frozen=True, tag="heartbeat"):
    """The task is alive."""


class Checkpoint(msgspec.Struct, frozen=True, tag="checkpoint"):
    """How far the task has come, as JSON: what a later attempt goes on from."""

    json: bytes


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """How far the task has come, for people: a part of 1, and a few words."""

    fraction: float
    text: str = ""


Report = Heartbeat | Checkpoint | Progress


class Halt:
    """Whether a task was asked to stop, and why. Asking and looking are safe from any thread."""

    __slots__ = ("reason",)

    def __init__(self) -> None:
        self.reason: str | None = None


class Context:
    """The run that a task is carrying out. Every method may be called from any thread, and none of them blocks for long.

    Reports are sent one after the other; of reports of one kind that follow each other quickly, only the last may arrive.
    """

    def __init__(self, info: RunInfo, *, report: Callable[[Report], None], halt: Halt) -> None:
        self._info = info
        self._report = report
        self._halt = halt
        self._checkpoint = info.checkpoint

    @property
    def run_id(self) -> str:
        return self._info.run_id

    @property
    def job_id(self) -> str | None:
        """None for a run that was enqueued without a job."""
        return self._info.job_id

    @property
    def attempt(self) -> int:
        """1 for the first try."""
        return self._info.attempt

    @property
    def token(self) -> int:
        """Grows with every attempt and with every worker that takes the run over: a store that refuses lower ones is never written to
        by an attempt that was given up."""
        return self._info.token

    @property
    def idempotency_key(self) -> str:
        """The same for all attempts of a run, and of no other."""
        return self._info.run_id

    @property
    def scheduled_at(self) -> datetime:
        """What the schedule says, however late it is. In UTC."""
        return to_datetime(self._info.scheduled_ms)

    @property
    def tenant(self) -> str:
        return self._info.tenant

    @property
    def checkpoint_data(self) -> Any:
        """The last checkpoint, of this attempt or of an earlier one; None before the first."""
        return None if self._checkpoint is None else decode(self._checkpoint)

    @property
    def cancelled(self) -> bool:
        """Whether the task is to stop: somebody cancelled it, or its time is out."""
        return self._halt.reason is not None

    def check_cancelled(self) -> None:
        """Raise Cancelled if the task is to stop."""
        if self._halt.reason is not None:
            raise Cancelled(self._halt.reason)

    def heartbeat(self) -> None:
        """Say that the task is alive."""
        self._report(Heartbeat())

    def checkpoint(self, data: Any) -> None:
        """Keep `data` for the next attempt, should this one fail. It must have a JSON form of at most 64 KiB, or Invalid is raised."""
        self._checkpoint = encode(read_plain(data, field="checkpoint", bytes_max=limits.CHECKPOINT_BYTES_MAX))
        self._report(Checkpoint(self._checkpoint))

    def progress(self, fraction: float, text: str = "") -> None:
        """Tell people how far the task is: a part of 1, and a few words. What lies outside of 0 and 1 is taken as the nearer of them."""
        within = min(max(float(fraction), 0.0), 1.0) if fraction == fraction else 0.0
        self._report(Progress(within, clean_text(text)[: limits.PROGRESS_LETTERS_MAX]))


class LocalContext(Context):
    """A context without a worker, for tests: it keeps what is reported."""

    def __init__(self, *, checkpoint_data: Any = None, **info: Any) -> None:
        self.reports: list[Report] = []
        checkpoint = None if checkpoint_data is None else encode(checkpoint_data)
        fields = {"run_id": "run_local", "checkpoint": checkpoint, **info}
        super().__init__(RunInfo(**fields), report=self.reports.append, halt=Halt())

    def cancel(self, reason: str = "cancelled") -> None:
        """Ask the task to stop, as a worker would."""
        self._halt.reason = reason


def read_plain(value: Any, *, field: str, bytes_max: int) -> Any:
    """A value in the types of JSON, or Invalid: what is kept and sent must come back as it went."""
    try:
        plain = msgspec.to_builtins(value, str_keys=True)
    except (TypeError, RecursionError) as error:
        raise Invalid((field, f"has no JSON form: {error}")) from None
    if reason := payload_problem(plain, payload_bytes_max=bytes_max):
        raise Invalid((field, reason))
    return plain
