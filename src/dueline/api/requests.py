"""Reading requests: bodies within their bounds, query parameters, preconditions, the tenant."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

import msgspec
from starlette.requests import Request

from dueline.api.problems import Refused
from dueline.domain import limits
from dueline.domain.access import Caller
from dueline.domain.errors import Invalid, NotFound
from dueline.domain.ids import JobId, RunId, parse_job_id, parse_run_id
from dueline.domain.texts import CONTROL
from dueline.domain.words import words_in
from dueline.wire.labels import read_duration, read_instant
from dueline.wire.problems import Problems
from dueline.wire.reading import WHOLE, decode, read_body

T = TypeVar("T", bound=msgspec.Struct)
E = TypeVar("E", bound=StrEnum)

BODY_READ_S = 30.0
"""How long a body may take to arrive: a client that sends a byte now and then must not hold memory for ever."""
JSON = ("application/json",)
DRY_RUN_QUERY = ("dry_run",)
MERGE_PATCH = ("application/merge-patch+json", "application/json")
_UTF8 = frozenset({"utf-8", "utf8", '"utf-8"'})
_TAG = re.compile(r'(?P<weak>W/)?"(?P<opaque>[!#-~\x80-\xff]*)"')
_VERSION = re.compile(r"v([1-9][0-9]{0,8})", re.ASCII)
_NUMBER_LETTERS_MAX = 9


def caller_of(request: Request) -> Caller:
    """Who sent it."""
    caller: Caller = request.state.caller
    return caller


def tenant_of(request: Request) -> str:
    """Whose request it is: the key says so, and nothing else."""
    return caller_of(request).tenant


def job_id_of(request: Request) -> JobId:
    """The job in the path. What is not even an id names no job."""
    text = request.path_params["id"]
    try:
        return parse_job_id(text)
    except Invalid:
        raise NotFound("job", text[:64]) from None


def run_id_of(request: Request, *, noun: str = "run") -> RunId:
    """The run in the path. What is not even an id names no run."""
    text = request.path_params["id"]
    try:
        return parse_run_id(text)
    except Invalid:
        raise NotFound(noun, text[:64]) from None


async def raw_body(request: Request, *, types: Sequence[str] = JSON) -> bytes:
    """The body, of one of the types. An absent content type means JSON."""
    body = await kept_body(request)
    if body:
        _check_type(request.headers.get("content-type"), types)
    return body


async def kept_body(request: Request) -> bytes:
    """The body, refused before more of it is read than is allowed, and kept for whoever asks for it again."""
    if not hasattr(request.state, "body"):
        request.state.body = await _read_to_its_end(request)
    body: bytes = request.state.body
    return body


async def _read_to_its_end(request: Request) -> bytes:
    most = limits.BODY_BYTES_MAX
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and (len(declared) > 15 or int(declared) > most):
        raise _too_large(most)
    chunks, size = [], 0
    try:
        async with asyncio.timeout(BODY_READ_S):
            async for chunk in request.stream():
                size += len(chunk)
                if size > most:
                    raise _too_large(most)
                chunks.append(chunk)
    except TimeoutError:
        raise Refused(408, "body-too-slow", f"The body did not arrive within {BODY_READ_S:g} s.") from None
    return b"".join(chunks)


async def json_body(request: Request, kind: type[T], problems: Problems) -> T:
    """A body of one type. What does not fit is told to `problems`."""
    return read_body(await raw_body(request), kind, problems)


async def optional_body(request: Request, kind: type[T], problems: Problems) -> T:
    """The same for a body that may be left out."""
    raw = await raw_body(request)
    return read_body(raw, kind, problems) if raw else kind()


async def no_body(request: Request, query: Sequence[str]) -> None:
    """Refuse what a body says to a route that takes none: whoever sent it would think that it was heard. `{}` says nothing."""
    raw = await raw_body(request) if _comes_with_body(request) else b""
    said = decode(raw) if raw else {}
    if not isinstance(said, dict):
        raise Invalid((WHOLE, "must be left out here, or be {}"))
    problems = Problems()
    for name in said:
        place = (
            f"is a parameter of the query: ?{name}=…"
            if name in query
            else "unknown field: nothing is said in the body here"
        )
        problems.add(CONTROL.sub("?", name), place)
    problems.raise_any()


def _comes_with_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def expected_version(request: Request) -> int | None:
    """The version that If-Match names; None without one or with `*`. A tag that no job can have is refused as one that does not match."""
    sent = request.headers.getlist("if-match")
    header = ", ".join(sent).strip()
    if not sent or header == "*":
        return None
    tag = _TAG.fullmatch(header)
    if tag is None:
        raise Refused(
            400, "bad-header", "If-Match must be one entity tag in double quotes, as the ETag of a job has it, or *."
        )
    version = _VERSION.fullmatch(tag["opaque"])
    if tag["weak"]:
        raise Refused(
            412, "version-mismatch", 'If-Match has a weak entity tag, which never matches: leave out W/, as in "v3".'
        )
    if version is None:
        raise Refused(
            412, "version-mismatch", 'If-Match has a tag that no job has: the ETag of a job is its version, as in "v3".'
        )
    return int(version[1])


def check_preconditions(request: Request, *, of_job: bool, may_create: bool) -> None:
    """Refuse conditions of a write that takes effect whatever they say."""
    if not of_job and "if-match" in request.headers:
        raise Refused(400, "bad-header", "If-Match is for writes to one job, and this is none: leave it out.")
    if not may_create and "if-none-match" in request.headers:
        raise Refused(400, "bad-header", "If-None-Match is for a PUT of a job, and this is none: leave it out.")


def is_create_only(request: Request) -> bool:
    """Whether nothing that is there is to be replaced. Of If-None-Match only `*` has a meaning for a write."""
    header = request.headers.get("if-none-match")
    if header is not None and header.strip() != "*":
        raise Invalid(("If-None-Match", "must be *: create only where there is none"))
    return header is not None


def there_already() -> Refused:
    return Refused(412, "version-mismatch", "There is such a job already, and If-None-Match lets it be created only.")


def is_dry_run(request: Request) -> bool:
    """Whether nothing is to be written. Any other parameter is refused."""
    query = Query(request, DRY_RUN_QUERY)
    dry_run = query.flag("dry_run")
    query.check()
    return dry_run


class Query:
    """The query parameters of a list. Call `check` once all of them were asked for."""

    def __init__(self, request: Request, known: Sequence[str]) -> None:
        self.problems = Problems()
        self._values: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in known:
                self.problems.add(CONTROL.sub("?", name), f"unknown parameter; known: {', '.join(known) or 'none'}")
            elif name in self._values:
                self.problems.add(name, "is given twice")
            elif CONTROL.search(value):
                self.problems.add(name, "must not hold control characters")
            else:
                self._values[name] = value

    def text(self, name: str) -> str | None:
        """A parameter; one that is empty counts as absent."""
        return self._values.get(name) or None

    def words(self, name: str) -> tuple[str, ...]:
        """A parameter as its words; none where it is absent."""
        value = self.text(name)
        words = words_in(value or "")
        if value is not None and not 1 <= len(words) <= limits.SEARCH_WORDS_MAX:
            self.problems.add(name, f"must have 1 to {limits.SEARCH_WORDS_MAX} words, of letters or digits")
        if len(value or "") > limits.NAME_LETTERS_MAX:
            self.problems.add(name, f"must have at most {limits.NAME_LETTERS_MAX} letters")
        return words

    def filled(self, name: str) -> str | None:
        """A parameter that cannot be any text. One that is empty is refused: it was to hold something, and would mean everything."""
        value = self._values.get(name)
        if value == "":
            self.problems.add(name, "is empty: leave it out, or give it a value")
            return None
        return value

    def choice(self, name: str, kind: type[E]) -> E | None:
        value = self.filled(name)
        if value is None:
            return None
        try:
            return kind(value)
        except ValueError:
            self.problems.add(name, f"must be one of {', '.join(kind)}")
            return None

    def instant_ms(self, name: str) -> int | None:
        value = self.filled(name)
        return None if value is None else read_instant(value, name, self.problems)

    def period_ms(self) -> tuple[int | None, int | None]:
        """The parameters `from` and `to`."""
        from_ms, to_ms = self.instant_ms("from"), self.instant_ms("to")
        if from_ms is not None and to_ms is not None and from_ms > to_ms:
            self.problems.add("to", "must not lie before from")
        return from_ms, to_ms

    def job_id(self) -> JobId | None:
        text = self.filled("job_id")
        if text is not None:
            with self.problems.gathering():
                return parse_job_id(text)
        return None

    def run_id(self) -> RunId | None:
        text = self.filled("run_id")
        if text is not None:
            with self.problems.gathering():
                return parse_run_id(text)
        return None

    def wait_s(self, *, most_ms: int) -> float:
        """How long the answer may wait for something to tell: not at all without one."""
        value = self.filled("wait")
        return 0.0 if value is None else read_duration(value, "wait", self.problems, least_ms=0, most_ms=most_ms) / 1000

    def number(self, name: str) -> float | None:
        """A number such as 5 or 0.5."""
        value = self.filled(name)
        if value is None:
            return None
        if len(value) > _NUMBER_LETTERS_MAX or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", value, re.ASCII):
            self.problems.add(name, "must be a number")
            return None
        return float(value)

    def flag(self, name: str) -> bool:
        """A parameter that is true or false; false without one."""
        value = self.filled(name)
        if value not in (None, "true", "false"):
            self.problems.add(name, "must be true or false")
        return value == "true"

    def limit(self, *, most: int = limits.PAGE_ROWS_MAX) -> int:
        """Rows of a page: whatever number is asked for is brought into bounds."""
        value = self.filled("limit")
        if value is None:
            return min(limits.PAGE_ROWS_DEFAULT, most)
        if not re.fullmatch(r"-?[0-9]+", value):
            self.problems.add("limit", "must be a whole number")
            return limits.PAGE_ROWS_DEFAULT
        if len(value) > _NUMBER_LETTERS_MAX:
            return 1 if value.startswith("-") else most
        return min(max(int(value), 1), most)

    def check(self) -> None:
        self.problems.raise_any()


def _too_large(most: int) -> Refused:
    # The rest of the body is not read, so the connection cannot be used again.
    return Refused(413, "too-large", f"A body may have {most} bytes.", headers={"connection": "close"})


def _check_type(header: str | None, types: Sequence[str]) -> None:
    if header is None:
        return
    media_type, *parameters = (part.strip() for part in header.lower().split(";"))
    charsets = [part.removeprefix("charset=") for part in parameters if part.startswith("charset=")]
    if media_type not in types or not _UTF8.issuperset(charsets):
        raise Refused(415, "unsupported-media-type", f"The body must be {' or '.join(types)} in UTF-8.")
