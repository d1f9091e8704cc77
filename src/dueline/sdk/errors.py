"""What a call can end with, each named after what its caller can do about it.

DuelineError
├── ApiError            the server said no
│   ├── Refused         the request can never work
│   │   ├── Invalid     … for the fields in `errors`
│   │   └── Denied      … with this key
│   ├── NotFound        there is no such thing
│   ├── Conflict        its state does not allow this, or the name is taken
│   │   ├── VersionMismatch  … because somebody changed it first
│   │   └── AnswerLost  it was done, and its answer is lost
│   ├── OverQuota       the tenant may not have or do more
│   ├── Unavailable     the server cannot do it right now
│   └── Broken          the server failed
├── Unreachable         no answer came
└── StillRunning        a wait was over before the run was
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

import msgspec

from dueline.domain.errors import DuelineError
from dueline.sdk.answers import Answer
from dueline.wire.problems import FieldProblem, Problem
from dueline.wire.reading import decoder_of

if TYPE_CHECKING:
    from dueline.wire.runs import RunView

__all__ = [
    "AnswerLost",
    "ApiError",
    "Broken",
    "Conflict",
    "Denied",
    "DuelineError",
    "Invalid",
    "NotFound",
    "OverQuota",
    "Refused",
    "StillRunning",
    "Unavailable",
    "Unreachable",
    "VersionMismatch",
]

ANSWER_LOST = "urn:dueline:problem:answer-lost"
INVALID = "urn:dueline:problem:invalid"
_TOLD_MAX = 5
"""Fields that a message names; all of them are in `errors`."""


class ApiError(DuelineError):
    """The server said no; `problem` is what it said."""

    def __init__(self, problem: Problem, *, retry_after_s: float | None = None, request_id: str | None = None) -> None:
        super().__init__(_message(problem))
        self.problem = problem
        self.retry_after_s = retry_after_s
        """How long the server asks to wait before another try; None where it does not say."""
        self.request_id = request_id
        """By which the server's log knows the request; None where it does not tell."""

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def type(self) -> str:
        """What kind of problem it is, as a stable URN: `urn:dueline:problem:conflict`."""
        return self.problem.type

    @property
    def errors(self) -> list[FieldProblem]:
        """The fields to correct."""
        return self.problem.errors


class Refused(ApiError):
    """The request can never work: correct it."""


class Invalid(Refused):
    """Fields need correction; `errors` names each of them and why. Also raised here, before anything is sent."""


class Denied(Refused):
    """The key is missing, wrong, or may not do this: give another, as `api_key` or in `DUELINE_API_KEY`."""


class NotFound(ApiError):
    """There is no such thing."""


class Conflict(ApiError):
    """It is not in a state that allows this, its name is taken, or somebody changed it first: read it again."""


class VersionMismatch(Conflict):
    """Somebody changed it since the version in `if_version`: read it again, then decide."""


class AnswerLost(Conflict):
    """The call was carried out by an earlier attempt, and its answer is lost: look at what there is."""


class OverQuota(ApiError):
    """The tenant would have, or do, more than it may; `problem` names the quota. Nothing was done."""


class Unavailable(ApiError):
    """The server cannot do it right now. Whether a write took effect is unknown: read it again."""


class Broken(ApiError):
    """The server failed in a way that it did not expect."""


class Unreachable(DuelineError):
    """No answer came. Unless `sent` is false it is unknown whether the server saw the request."""

    def __init__(self, reason: str, *, sent: bool = True) -> None:
        super().__init__(reason)
        self.sent = sent
        """False when it is certain that nothing arrived."""


class StillRunning(DuelineError):
    """The time to wait is over, and the run goes on; `run` is how it was seen last, or None if it could not be seen at all."""

    def __init__(self, run_id: str, run: RunView | None, *, timeout_s: float) -> None:
        state = "could not be seen" if run is None else f"is {run.state}"
        super().__init__(f"{run_id} {state} after {timeout_s:g} s: wait longer, or ask runs.why what it waits for")
        self.run = run


def invalid(problems: Iterable[tuple[str, str]]) -> Invalid:
    """What was found to be wrong before anything was sent."""
    found = [FieldProblem(field, reason) for field, reason in problems]
    return Invalid(Problem(type=INVALID, title=HTTPStatus.UNPROCESSABLE_ENTITY.phrase, status=422, errors=found))


def to_error(answer: Answer) -> ApiError:
    """The error that an answer stands for."""
    problem = _problem(answer)
    after = answer.headers.get("retry-after", "")
    return _kind(problem)(
        problem,
        retry_after_s=float(after) if after.isascii() and after.isdigit() else None,
        request_id=problem.request_id or answer.headers.get("x-request-id"),
    )


def unreadable(answer: Answer, why: str) -> Broken:
    """A success whose body is none of ours."""
    detail = f"the answer cannot be read as Dueline's ({why}): is there something else at this address?"
    return Broken(Problem(type="about:blank", title="Unreadable answer", status=answer.status, detail=detail))


def _kind(problem: Problem) -> type[ApiError]:
    match problem.status:
        case 409 if problem.type == ANSWER_LOST:
            return AnswerLost
        case 401 | 403:
            return Denied
        case 404:
            return NotFound
        case 409:
            return Conflict
        case 412:
            return VersionMismatch
        case 422:
            return Invalid
        case 429 if problem.quota is not None:
            return OverQuota
        case 429 | 503:
            return Unavailable
        case status if 400 <= status < 500:
            return Refused
        case _:
            return Broken


def _problem(answer: Answer) -> Problem:
    """What the server said; something in between may have said it in another form."""
    try:
        problem: Problem = decoder_of(Problem).decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        title = HTTPStatus(answer.status).phrase if answer.status in {*HTTPStatus} else "Error"
        problem = Problem(type="about:blank", title=title, status=answer.status)
    return problem


def _message(problem: Problem) -> str:
    told = [f"{error.field}: {error.reason}" for error in problem.errors]
    if not told:
        return problem.detail or problem.title
    more = f" (and {len(told) - _TOLD_MAX} more)" if len(told) > _TOLD_MAX else ""
    return "; ".join(told[:_TOLD_MAX]) + more
