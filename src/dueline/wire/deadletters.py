"""Dead letters: failed runs that nobody has dealt with, and what people want done with them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.ids import JobId, parse_job_id, run_text
from dueline.domain.instants import format_instant
from dueline.domain.job import Delivery, Execution
from dueline.domain.redriving import RedriveVersion
from dueline.domain.run import Run
from dueline.domain.texts import CONTROL
from dueline.wire.labels import check_key, check_near, check_queue, check_rate, read_instant
from dueline.wire.limits import ConcurrencyForm, StartRateForm, concurrency_form, start_rate_form
from dueline.wire.notices import NotifyForm, notify_form
from dueline.wire.policies import RetryForm, retry_form
from dueline.wire.problems import Problems
from dueline.wire.runs import RunView, run_view
from dueline.wire.targets import TargetForm, TargetView, target_form

KEY_DEFAULT = "once"


class RedriveInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to try one again. `target` is called in place of the one that failed."""

    key: str = KEY_DEFAULT
    version: RedriveVersion = RedriveVersion.PINNED
    target: TargetForm | None = None


class MatchInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dead letters; what is left out matches all."""

    job_id: str | None = None
    queue: str | None = None
    reason: str | None = None
    from_: str | None = msgspec.field(name="from", default=None)
    to: str | None = None


class BulkRedriveInput(MatchInput, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to try many again, so many a second. `dry_run` only counts."""

    rate: float = limits.REDRIVE_RATE_DEFAULT
    start_at: str | None = None
    version: RedriveVersion = RedriveVersion.PINNED
    key: str = KEY_DEFAULT
    dry_run: bool = False


class Match(msgspec.Struct, frozen=True, kw_only=True):
    """Which dead letters, checked."""

    job_id: JobId | None
    queue: str | None
    reason: str | None
    from_ms: int | None
    to_ms: int | None


class ExecutedView(msgspec.Struct, frozen=True, kw_only=True):
    """What a run executed."""

    target: TargetView
    retry: RetryForm
    timeout: str
    run_timeout: str | None
    expires_after: str | None
    requires: tuple[str, ...]
    concurrency: ConcurrencyForm | None
    rate: StartRateForm | None
    notify: NotifyForm | None
    delivery: Delivery


class DeadLetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run that nobody has dealt with. Its id is that of the run; only a single one tells what was `executed`."""

    id: str
    failed_at: str
    run: RunView
    executed: ExecutedView | UnsetType = UNSET


class BulkRedriveView(msgspec.Struct, frozen=True, kw_only=True):
    """What a redrive of many did, or would do; `left` of them are for the next call."""

    matched: int
    redriven: int
    left: int
    at: str
    next_due_at: str


class PurgeView(msgspec.Struct, frozen=True):
    purged: int


def to_match(asked: MatchInput, problems: Problems) -> Match:
    """Which dead letters are meant. What is wrong is told to `problems`."""
    job_id = None
    if asked.job_id is not None:
        with problems.gathering():
            job_id = parse_job_id(asked.job_id)
    if asked.queue is not None:
        check_queue(asked.queue, problems)
    if asked.reason is not None and (len(asked.reason) > limits.NAME_LETTERS_MAX or CONTROL.search(asked.reason)):
        problems.add("reason", f"must have at most {limits.NAME_LETTERS_MAX} letters, without control characters")
    from_ms = None if asked.from_ is None else read_instant(asked.from_, "from", problems)
    to_ms = None if asked.to is None else read_instant(asked.to, "to", problems)
    if from_ms is not None and to_ms is not None and from_ms > to_ms:
        problems.add("to", "must not lie before from")
    return Match(job_id=job_id, queue=asked.queue, reason=asked.reason, from_ms=from_ms, to_ms=to_ms)


def check_bulk(asked: BulkRedriveInput, problems: Problems) -> int | None:
    """When the first of many is due, or Invalid with all that is wrong, that which was told before included."""
    check_key(asked.key, problems)
    check_rate(asked.rate, "rate", problems, most=limits.REDRIVE_RATE_MAX)
    start_ms = None if asked.start_at is None else read_instant(asked.start_at, "start_at", problems)
    check_near(start_ms, "start_at", problems)
    problems.raise_any()
    return start_ms


def dead_letter_view(
    run: Run, names: Mapping[JobId, str], *, failed_ms: int, execution: Execution | None = None
) -> DeadLetterView:
    return DeadLetterView(
        id=run_text(run.id),
        failed_at=format_instant(failed_ms),
        run=run_view(run, names),
        executed=UNSET if execution is None else _executed(execution),
    )


def _executed(execution: Execution) -> ExecutedView:
    return ExecutedView(
        target=target_form(execution.target),
        retry=retry_form(execution.retry),
        timeout=format_duration(execution.timeout_ms),
        run_timeout=_duration(execution.run_timeout_ms),
        expires_after=_duration(execution.expires_after_ms),
        requires=execution.requires,
        concurrency=concurrency_form(execution.concurrency),
        rate=start_rate_form(execution.rate),
        notify=notify_form(execution.notify),
        delivery=execution.delivery,
    )


def _duration(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else format_duration(duration_ms)
