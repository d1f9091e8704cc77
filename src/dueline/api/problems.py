"""From exceptions to RFC 9457 answers. What was not meant for the caller stays in the log."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.requestids import request_id_of
from dueline.domain.errors import (
    Conflict,
    DuelineError,
    Invalid,
    LeaseLost,
    NotFound,
    OverQuota,
    StoreUnavailable,
    VersionMismatch,
)
from dueline.runtime.log import get_log
from dueline.wire.problems import FieldProblem, Problem
from dueline.wire.reading import Unreadable, encode

log = get_log(__name__)

PROBLEM_JSON = "application/problem+json"
RETRY_AFTER_S = 1
"""A store that is away is usually back within seconds."""
TYPE_PREFIX = "urn:dueline:problem:"
_INSTANCE_LETTERS_MAX = 200


TITLES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
"""As RFC 9110 has them; those of the standard library change with the version of Python."""


class Refused(DuelineError):
    """The request cannot be taken as it was sent, whatever is in it."""

    def __init__(self, status: int, slug: str, detail: str, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.slug = slug
        self.headers = dict(headers or {})


_STATUSES: dict[type[DuelineError], tuple[int, str]] = {
    Invalid: (422, "invalid"),
    Unreadable: (400, "unreadable"),
    NotFound: (404, "not-found"),
    Conflict: (409, "conflict"),
    VersionMismatch: (412, "version-mismatch"),
    LeaseLost: (409, "lease-lost"),
    OverQuota: (429, "over-quota"),
    StoreUnavailable: (503, "unavailable"),
}


def problem_response(error: Exception, request: Request) -> Response:
    """The answer to a request that ended with an exception."""
    problem, headers = _told(error, request)
    problem = msgspec.structs.replace(problem, request_id=request_id_of(request))
    return Response(encode(problem), problem.status, media_type=PROBLEM_JSON, headers=headers)


def _told(error: Exception, request: Request) -> tuple[Problem, dict[str, str]]:
    """The problem, and headers that go with it."""
    path: str = request.scope["path"]
    if isinstance(error, Refused):
        return _problem(error.status, error.slug, str(error), path, []), error.headers
    for kind, (status, slug) in _STATUSES.items():
        if isinstance(error, kind):
            return _known(error, status, slug, request)
    _log_unexpected(error, request)
    return _problem(500, "internal", "Something broke; the log of the server has it.", path, []), {}


def _known(error: Exception, status: int, slug: str, request: Request) -> tuple[Problem, dict[str, str]]:
    path: str = request.scope["path"]
    if isinstance(error, StoreUnavailable):
        # Its text may name hosts and users of the database.
        log.warning("request refused", reason=str(error), request_id=request_id_of(request))
        detail = "The store cannot be reached; whether a write took effect is unknown."
        return _problem(status, slug, detail, path, []), {"retry-after": str(RETRY_AFTER_S)}
    if isinstance(error, Invalid | Conflict):
        return refusal_problem(error, path), {}
    told = _problem(status, slug, str(error), path, [])
    if isinstance(error, OverQuota):
        headers = {} if error.retry_after_s is None else {"retry-after": str(error.retry_after_s)}
        return msgspec.structs.replace(told, quota=error.quota, limit=error.limit, used=error.used), headers
    return told, {}


def refusal_problem(error: Invalid | Conflict, path: str = "") -> Problem:
    """Why something was not done, for a whole answer or for an item of one."""
    status, slug = _STATUSES[Invalid if isinstance(error, Invalid) else Conflict]
    errors = [FieldProblem(field, reason) for field, reason in error.problems]
    several = isinstance(error, Invalid) and len(errors) != 1
    return _problem(status, slug, f"{len(errors)} fields need correction." if several else str(error), path, errors)


def _problem(status: int, slug: str, detail: str, path: str, errors: list[FieldProblem]) -> Problem:
    return Problem(
        type=TYPE_PREFIX + slug,
        title=TITLES[status],
        status=status,
        detail=detail,
        instance=path[:_INSTANCE_LETTERS_MAX],
        errors=errors,
    )


def _log_unexpected(error: Exception, request: Request) -> None:
    """Where it broke, and not with what: messages and requests may carry what people want kept secret."""
    where = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in extract_tb(error.__traceback__)]
    log.error(
        "request broke",
        method=request.method,
        error=type(error).__name__,
        where=" < ".join(reversed(where)),
        request_id=request_id_of(request),
    )
