"""What a call can end with, each named after what its caller can do about it."""

from __future__ import annotations

from dueline.wire.problems import FieldProblem, Problem


class ApiError(Exception):
    """The server said no; `problem` is what it said."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title)
        self.problem = problem

    @property
    def errors(self) -> list[FieldProblem]:
        """The fields to correct."""
        return self.problem.errors


class Refused(ApiError):
    """The request can never work: correct it."""


class NotFound(ApiError):
    """There is no such thing."""


class Conflict(ApiError):
    """It is not in a state that allows this, or somebody changed it first: read it again."""


class OverQuota(ApiError):
    """The tenant would have, or do, more than it may; `problem` names the quota. Nothing was done."""


class Unavailable(ApiError):
    """The server cannot do it right now. Whether a write took effect is unknown: read it again."""


class Broken(ApiError):
    """The server failed in a way that it did not expect."""


class Unreachable(Exception):
    """No answer came. Whether the server saw the request is unknown."""


def to_error(problem: Problem) -> ApiError:
    match problem.status:
        case 404:
            return NotFound(problem)
        case 409 | 412:
            return Conflict(problem)
        case 429 if problem.quota is not None:
            return OverQuota(problem)
        case 429 | 503:
            return Unavailable(problem)
        case status if 400 <= status < 500:
            return Refused(problem)
        case _:
            return Broken(problem)
