"""What is wrong with a request: field problems gathered while it is read, and RFC 9457 problems to tell them in."""

from __future__ import annotations

from types import TracebackType

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid

_FIELD_LETTERS_MAX = 200
_REASON_LETTERS_MAX = 500


class FieldProblem(msgspec.Struct, frozen=True):
    """One field to correct, named by its path (`runs[3].target.url`), and why."""

    field: str
    reason: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An error as RFC 9457 has it. `type` is stable and names what to do next; `errors` are the fields at fault. A 429 tells which `quota`
    it is about, its `limit`, and how much of it is `used`. By the `request_id` the server's log tells more."""

    type: str
    title: str
    status: int
    detail: str = ""
    instance: str = ""
    errors: list[FieldProblem] = []
    quota: str | None = None
    limit: int | None = None
    used: int | None = None
    request_id: str | None = None


class Problems:
    """Field problems, gathered until all fields were looked at, so that a caller can correct them in one go."""

    __slots__ = ("_found", "_most", "_prefix")

    def __init__(self, *, most: int = limits.PROBLEMS_MAX) -> None:
        self._prefix = ""
        self._most = most
        self._found: dict[tuple[str, str], None] = {}

    def within(self, prefix: str) -> Problems:
        """The same collection, seen from inside a field: what is added there gets the prefix."""
        inside = Problems(most=self._most)
        inside._prefix = self._prefix + prefix
        inside._found = self._found
        return inside

    def add(self, field: str, reason: str) -> None:
        path = (self._prefix + field)[:_FIELD_LETTERS_MAX]
        self._found[path, reason[:_REASON_LETTERS_MAX]] = None

    def gathering(self) -> Gathering:
        """A `with` that takes in what is raised as Invalid, and goes on after it."""
        return Gathering(self)

    def touch(self, field: str) -> bool:
        """Whether something inside a field was found already, so that a consequence of it need not be told."""
        path = self._prefix + field
        return any(found == path or found.startswith((f"{path}.", f"{path}[")) for found, _ in self._found)

    @property
    def found(self) -> list[tuple[str, str]]:
        """Fields and reasons so far."""
        return list(self._found)

    @property
    def any(self) -> bool:
        return bool(self._found)

    @property
    def full(self) -> bool:
        """Whether looking further would tell the caller nothing more."""
        return len(self._found) >= self._most

    def raise_any(self) -> None:
        if self._found:
            raise Invalid(*list(self._found)[: self._most])


class Gathering:
    """Ends its block at the first Invalid, and keeps its problems."""

    __slots__ = ("_problems",)

    def __init__(self, problems: Problems) -> None:
        self._problems = problems

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Invalid):
            return False
        for field, reason in error.problems:
            self._problems.add(field, reason)
        return True
