"""Reading what workers send to the desk."""

from __future__ import annotations

from heapq import nlargest
from operator import itemgetter
from typing import TypeVar

from msgspec import UNSET, UnsetType

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import RunId, parse_run_id
from dueline.domain.texts import CONTROL, clean_text, kept_result
from dueline.engine.desk import GivenBack
from dueline.engine.execution.reported import Reported
from dueline.store.fleet import JobType
from dueline.store.shapes import Saved
from dueline.wire.desk import GivenBackForm, HeldRun, OfferForm, ProgressForm, ResultForm
from dueline.wire.labels import check_count, check_name, check_queue, read_duration, read_instant
from dueline.wire.problems import Problems
from dueline.wire.reading import encode
from dueline.wire.targets import payload_problem

F = TypeVar("F", bound=HeldRun)

_TASKS_MAX = 1_000
_RATES_KEPT = 64
_RATE_MAX = 1_000_000


def read_offers(forms: list[OfferForm], problems: Problems) -> list[JobType]:
    """The tasks that a worker says to have."""
    check_count(len(forms), "tasks", problems, least=0, most=_TASKS_MAX)
    types: dict[str, JobType] = {}
    for index, form in enumerate(forms):
        inside = problems.within(f"tasks[{index}].")
        if form.name is UNSET:
            continue
        check_name(form.name, inside)
        check_queue(form.queue, inside)
        if form.name in types:
            inside.add("name", f"is given twice: {form.name!r}")
        if form.description is not None and (
            len(form.description) > limits.NOTE_LETTERS_MAX or "\0" in form.description
        ):
            inside.add("description", f"must have at most {limits.NOTE_LETTERS_MAX} letters, without NULs")
        if reason := payload_problem(form.parameters, payload_bytes_max=limits.PAYLOAD_BYTES_MAX):
            inside.add("parameters", reason)
        else:
            types[form.name] = JobType(
                name=form.name,
                queue=form.queue,
                parameters=encode(form.parameters).decode(),
                description=form.description,
            )
    return list(types.values())


def read_rates(rates: dict[str, float], problems: Problems) -> dict[str, float]:
    """What a worker took from its busiest queues: it is not kept from beating for having many."""
    kept = dict(nlargest(_RATES_KEPT, rates.items(), key=itemgetter(1)))
    for queue, rate in kept.items():
        field = f"rates.{CONTROL.sub('?', queue)}"
        check_queue(queue, problems, field=field)
        if not 0 <= rate <= _RATE_MAX:
            problems.add(field, f"must be between 0 and {_RATE_MAX}")
    return kept


def checked(forms: list[F] | UnsetType, field: str, problems: Problems) -> list[F]:
    """What a call brings, as far as it has its bounds, and every run once."""
    if forms is UNSET:
        return []
    check_count(len(forms), field, problems, least=1, most=limits.FINISH_BATCH)
    seen: set[str | UnsetType] = set()
    for index, form in enumerate(forms[: limits.FINISH_BATCH]):
        if form.id in seen and form.id is not UNSET:
            problems.add(f"{field}[{index}].id", "is given twice")
        seen.add(form.id)
    return forms[: limits.FINISH_BATCH]


def read_run_id(text: str | UnsetType, field: str, problems: Problems) -> RunId:
    """The id of a run; what is none is told to `problems`."""
    if text is not UNSET:
        try:
            return parse_run_id(text)
        except Invalid:
            problems.add(field, "is not the id of a run")
    return RunId(b"")


def _token(form: HeldRun) -> int:
    return 0 if form.token is UNSET else form.token


def read_result(form: ResultForm, problems: Problems) -> Reported:
    """What a worker says of an attempt that has ended."""
    retry_after_ms = None
    if form.retry_after is not None:
        retry_after_ms = read_duration(
            form.retry_after, "retry_after", problems, least_ms=0, most_ms=limits.RETRY_CAP_MS_MAX
        )
    if form.outcome is None and form.status is None:
        problems.add("outcome", "is required where there is no status")
    if form.status is not None:
        check_count(form.status, "status", problems, least=100, most=999)
    _check_headers(form.headers, problems)
    return Reported(
        run_id=read_run_id(form.id, "id", problems),
        token=_token(form),
        kind=form.outcome,
        status=form.status,
        error=None if form.error is None else clean_text(form.error[: limits.ERROR_LETTERS_MAX]),
        result=_read_kept(form),
        retry_after_ms=retry_after_ms,
        headers={
            name.lower(): clean_text(value[: limits.RESPONSE_HEADER_LETTERS_MAX])
            for name, value in form.headers.items()
        },
        leaving=form.leaving,
        started_ms=None if form.started_at is None else read_instant(form.started_at, "started_at", problems),
    )


def _check_headers(headers: dict[str, str], problems: Problems) -> None:
    if len(headers) > limits.KEEP_HEADERS_MAX:
        problems.add("headers", f"must be at most {limits.KEEP_HEADERS_MAX}")
    for name in headers:
        check_name(name, problems, field=f"headers.{CONTROL.sub('?', name)}")


def _read_kept(form: ResultForm) -> str | None:
    """The body of an answer as it stands, the result of a task as JSON."""
    if form.result is None:
        return None
    if form.status is not None and isinstance(form.result, str):
        kept = form.result.encode(errors="replace")[: limits.RESPONSE_KEPT_BYTES]
        return clean_text(kept.decode(errors="ignore"))
    return clean_text(kept_result(encode(form.result)))


def read_given_back(form: GivenBackForm, problems: Problems) -> GivenBack:
    """What a worker gives back unstarted."""
    if (form.delay is None) != (form.reason is None):
        problems.add("reason", "goes with delay: both say that the run is put off")
    delay_ms = None
    if form.delay is not None:
        delay_ms = read_duration(form.delay, "delay", problems, least_ms=0, most_ms=limits.RETRY_AFTER_MS_MAX)
    return GivenBack(read_run_id(form.id, "id", problems), _token(form), delay_ms, form.reason)


def read_progress(form: ProgressForm, problems: Problems) -> Saved:
    """What a worker tells of a run under way."""
    checkpoint = None
    if form.checkpoint is not UNSET:
        if reason := payload_problem(form.checkpoint, payload_bytes_max=limits.CHECKPOINT_BYTES_MAX):
            problems.add("checkpoint", reason)
        else:
            checkpoint = encode(form.checkpoint).decode()
    if form.progress is not None and not 0 <= form.progress <= 1:
        problems.add("progress", "must be between 0 and 1")
    note = None if form.note is None else clean_text(form.note[: limits.PROGRESS_LETTERS_MAX])
    return Saved(read_run_id(form.id, "id", problems), _token(form), checkpoint, form.progress, note)
