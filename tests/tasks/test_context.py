"""What a task knows and says, and the outcomes of what it does."""

import asyncio
import contextvars
import math
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dueline import App, Cancelled, Context, Fail, Retry
from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.run import Outcome, OutcomeKind
from dueline.tasks.attempts import attempt, attempt_async
from dueline.tasks.context import Checkpoint, Heartbeat, LocalContext, Progress
from tests.support import task_app


def outcome_of(function: Any, arguments: bytes = b"{}", context: LocalContext | None = None) -> Outcome:
    task = App().task(name="it")(function)
    context = context or LocalContext()
    if task.is_async:
        return asyncio.run(attempt_async(task, arguments, context))
    return attempt(task, arguments, context)


def test_a_context_tells_of_its_run() -> None:
    context = LocalContext(run_id="run_1", job_id="job_1", attempt=2, token=7, scheduled_ms=1_000, tenant="t")
    assert (context.run_id, context.job_id, context.attempt, context.token) == ("run_1", "job_1", 2, 7)
    assert (context.idempotency_key, context.tenant) == ("run_1", "t")
    assert context.scheduled_at == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert context.checkpoint_data is None
    assert LocalContext(checkpoint_data={"page": 3}).checkpoint_data == {"page": 3}


def test_reports() -> None:
    context = LocalContext(checkpoint_data=1)
    context.heartbeat()
    context.checkpoint({"at": datetime(2026, 1, 1, tzinfo=UTC), 5: None})
    context.progress(0.4, "a\0b\ud800")
    context.progress(7, "x" * 1000)
    context.progress(math.nan)
    assert context.reports == [
        Heartbeat(),
        Checkpoint(b'{"at":"2026-01-01T00:00:00Z","5":null}'),
        Progress(0.4, "a\\0b\\ud800"),
        Progress(1.0, "x" * limits.PROGRESS_LETTERS_MAX),
        Progress(0.0),
    ]
    assert context.checkpoint_data == {"at": "2026-01-01T00:00:00Z", "5": None}


def test_a_checkpoint_that_cannot_be_kept_is_refused() -> None:
    context = LocalContext(checkpoint_data="before")
    nested: list[Any] = []
    for _ in range(100):
        nested = [nested]
    for wrong in (object(), "x" * (limits.CHECKPOINT_BYTES_MAX + 1), ["a\0b"], nested, "\ud800"):
        with pytest.raises(Invalid, match="checkpoint: "):
            context.checkpoint(wrong)
    assert context.reports == []
    assert context.checkpoint_data == "before"


def test_a_task_that_is_asked_to_stop_sees_it() -> None:
    context = LocalContext()
    context.check_cancelled()
    before = context.cancelled
    context.cancel("because")
    assert (before, context.cancelled) == (False, True)
    with pytest.raises(Cancelled, match="because"):
        context.check_cancelled()
    assert not issubclass(Cancelled, Exception), "an `except Exception` of the task must not swallow it"


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("none", None),
        ("dict", '{"a":[1,2]}'),
        ("surrogate", "\"'\\\\ud800'\""),
    ],
)
def test_results_are_json(kind: str, result: str | None) -> None:
    outcome = outcome_of(task_app.result.function, b'{"kind": "%b"}' % kind.encode())
    assert outcome == Outcome(kind=OutcomeKind.SUCCEEDED, result=result)


def test_a_result_without_a_json_form_is_kept_as_its_text() -> None:
    class Unspeakable:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "object object at" in (outcome_of(task_app.result.function, b'{"kind": "object"}').result or "")
    assert outcome_of(giving(Unspeakable())).result == '"<Unspeakable that cannot be shown>"'


def giving(value: Any) -> Any:
    def give() -> Any:
        return value

    return give


def test_a_result_that_is_too_large_is_shown_by_its_beginning() -> None:
    outcome = outcome_of(task_app.result.function, b'{"kind": "large"}')
    assert outcome.kind is OutcomeKind.SUCCEEDED
    assert (outcome.result or "").startswith('{"too_large":true,"bytes":100301,"beginning":"[\\"xxx')
    assert len(outcome.result or "") < limits.RESPONSE_KEPT_BYTES


def test_a_coroutine_that_nobody_awaits_is_an_error() -> None:
    outcome = outcome_of(task_app.result.function, b'{"kind": "coroutine"}')
    assert outcome.kind is OutcomeKind.ERRORED
    assert "declare it with async def" in (outcome.error or "")


def test_an_error_is_told_with_its_cause_and_its_place() -> None:
    def inner() -> None:
        raise KeyError("a")

    def outer() -> None:
        try:
            inner()
        except KeyError as error:
            raise ValueError("b\0\ud800") from error

    told = (outcome_of(outer).error or "").splitlines()
    assert told[0] == "ValueError: b\\0\\ud800"
    assert told[1] == "because of KeyError: 'a'"
    assert "test_context.py" in told[2]
    assert told[2].endswith('in outer: raise ValueError("b\\0\\ud800") from error')


def test_what_is_told_of_an_error_is_bounded() -> None:
    def deep(depth: int = 0) -> None:
        if depth < 500:
            deep(depth + 1)
        raise ValueError("x" * 100_000)

    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def silent() -> None:
        raise Silent

    told = outcome_of(deep).error or ""
    assert len(told) <= limits.ERROR_LETTERS_MAX
    assert "in deep" in told
    assert "<Silent that cannot be shown>" in (outcome_of(silent).error or "")


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), MemoryError(), RecursionError()]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_nothing_that_is_raised_gets_past(error: BaseException, is_async: bool) -> None:
    def raising() -> None:
        raise error

    async def raising_async() -> None:
        raise error

    outcome = outcome_of(raising_async if is_async else raising)
    assert outcome.kind is OutcomeKind.ERRORED
    assert (outcome.error or "").startswith(type(error).__name__)


def test_fail_is_not_retried_and_retry_says_when() -> None:
    def failing() -> None:
        raise Fail("no such customer")

    def retrying(seconds: float) -> None:
        raise Retry(after=timedelta(seconds=seconds))

    failed = outcome_of(failing)
    assert (failed.kind, failed.status) == (OutcomeKind.REFUSED, None)
    assert (failed.error or "").startswith("Fail: no such customer")
    again = outcome_of(retrying, b'{"seconds": 1.5}')
    assert (again.kind, again.retry_after_ms) == (OutcomeKind.ERRORED, 1_500)
    assert (again.error or "").startswith("Retry: the task asked to be tried again")
    assert Retry("later").after_ms is None
    for wrong in ("soon", "30d", timedelta(seconds=-1)):
        with pytest.raises(Invalid):
            Retry(after=wrong)


def test_a_task_that_stops_when_asked_was_cancelled_and_one_that_stops_by_itself_was_not() -> None:
    def stopping(context: Context) -> None:
        context.check_cancelled()
        raise Cancelled

    async def stopping_async() -> None:
        raise asyncio.CancelledError

    for function in (stopping, stopping_async):
        assert outcome_of(function).kind is OutcomeKind.ERRORED
        context = LocalContext()
        context.cancel()
        assert outcome_of(function, context=context).kind is OutcomeKind.CANCELLED


def test_arguments_that_do_not_fit_are_no_error_of_the_task() -> None:
    def takes(count: int) -> None: ...

    outcome = outcome_of(takes, b'{"count": "a"}')
    assert outcome.kind is OutcomeKind.IMPOSSIBLE
    assert outcome.error == "the arguments do not fit: count: must be a whole number, not text"


def test_context_variables_do_not_leak_into_the_next_task() -> None:
    variable = contextvars.ContextVar("variable", default=0)

    def change() -> int:
        variable.set(variable.get() + 1)
        return variable.get()

    assert [outcome_of(change).result for _ in range(2)] == ["1", "1"]


def test_import_dueline_stays_light() -> None:
    heavy = ["apsw", "asyncpg", "pycurl", "starlette", "uvicorn", "typer", "rich", "structlog"]
    program = (
        "import sys, dueline\n"
        "assert 'dueline.tasks' not in sys.modules and 'msgspec' not in sys.modules\n"
        "from dueline import App, Cancelled, Context, Fail, Retry\n"
        f"assert not set({heavy!r}) & set(sys.modules), set({heavy!r}) & set(sys.modules)\n"
        "assert not hasattr(dueline, 'Nothing')\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
