"""What a run calls, as people write it. Whatever no client may send is refused here, before it is stored."""

from __future__ import annotations

import re
import ssl
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dueline.domain import limits, templates
from dueline.domain.durations import format_duration
from dueline.domain.job import KEPT_BY_DEFAULT, HttpTarget, Target, TaskTarget, Tls
from dueline.domain.statuses import SUCCESSES, Statuses, write_statuses
from dueline.domain.texts import CONTROL
from dueline.domain.urls import url_problem
from dueline.wire.labels import check_name, read_duration
from dueline.wire.policies import read_statuses
from dueline.wire.problems import Problems
from dueline.wire.reading import encode

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\t -~]*")
_METHODS_REFUSED = frozenset({"CONNECT", "TRACE"})
_HEADERS_REFUSED = frozenset(
    {
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
        "idempotency-key",
        "traceparent",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    }
)
"""What belongs to the connection or to the run: Dueline sets it, and `Dueline-…` too."""
_HEADER_PREFIX_REFUSED = "dueline-"
_NEVER_KEPT = frozenset({"set-cookie", "set-cookie2", "authentication-info"})
"""Response headers that hold credentials."""
_CONNECT_TIMEOUT = format_duration(limits.CONNECT_TIMEOUT_MS_DEFAULT)
_EXPECTED = tuple(write_statuses(SUCCESSES))


class TlsForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom to trust: the system's authorities, or `ca` (certificates as PEM) in their place, or with `verify` false anybody."""

    verify: bool = True
    ca: str | None = None


_TLS = TlsForm()


class HttpFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What may be said of an HTTP call besides its URL."""

    method: str = "POST"
    headers: dict[str, str] = {}
    body: Any = None
    body_base64: str | None = None
    connect_timeout: str = _CONNECT_TIMEOUT
    expected_status: tuple[int | str, ...] = _EXPECTED
    keep_headers: tuple[str, ...] = KEPT_BY_DEFAULT
    tls: TlsForm = _TLS
    sign: bool = True


class HttpTargetForm(
    HttpFields,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    repr_omit_defaults=True,
    tag_field="type",
    tag="http",
):
    """An HTTP call. A body that is text is sent as it stands, anything else as JSON; null is no body. `body_base64` is sent as bytes."""

    url: str


class TaskTargetForm(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="task"
):
    """A task that workers know by its name, with its arguments by theirs."""

    task: str
    args: dict[str, Any] = {}


class TargetForm(HttpFields, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Either of them, as people write it: what is said tells which it is, so `type` may be left out."""

    type: Literal["http", "task"] | UnsetType = UNSET
    url: str | UnsetType = UNSET
    task: str | UnsetType = UNSET
    args: dict[str, Any] | UnsetType = UNSET


TargetView = HttpTargetForm | TaskTargetForm

_BLANK = TargetForm()


def to_target(
    form: TargetForm | UnsetType, problems: Problems, *, payload_bytes_max: int, has_job: bool = True
) -> Target:
    """The target of a form; problems are told as `target.…`."""
    if form is UNSET:
        return HttpTarget(url="")
    if form.type == "task" or (form.type is UNSET and form.url is UNSET and form.task is not UNSET):
        return _to_task(form, problems, payload_bytes_max=payload_bytes_max)
    return _to_http(form, problems, payload_bytes_max=payload_bytes_max, has_job=has_job)


def target_like(pattern: Target, form: TargetForm, problems: Problems, *, payload_bytes_max: int) -> Target | None:
    """The target of an ad-hoc run whose form says the same as that of `pattern`, but for its URL, body and arguments. None where these are
    not what such a target needs: `to_target` tells."""
    if isinstance(pattern, TaskTarget):
        if form.url is not UNSET or form.body is not None:
            return None
        args = {} if form.args is UNSET else form.args
        _check_args(args, problems, payload_bytes_max=payload_bytes_max)
        return msgspec.structs.replace(pattern, args=args)
    if form.url is UNSET or form.args is not UNSET:
        return None
    check_url(form.url, problems, field="target.url", has_job=False)
    if form.body is not None:
        _check_body(form.body, problems, payload_bytes_max=payload_bytes_max, has_job=False)
    return msgspec.structs.replace(pattern, url=form.url, body=form.body)


def target_form(target: Target) -> TargetView:
    """A target as people read it; what they read they may write again."""
    if isinstance(target, TaskTarget):
        return TaskTargetForm(task=target.task, args=target.args)
    return _http_form(target)


def _to_task(form: TargetForm, problems: Problems, *, payload_bytes_max: int) -> TaskTarget:
    for name in ("url", *HttpFields.__struct_fields__):
        if getattr(form, name) != getattr(_BLANK, name):
            problems.add(f"target.{name}", "has no use for a task: say what it needs in target.args")
    task = "" if form.task is UNSET else form.task
    args = {} if form.args is UNSET else form.args
    if form.task is not UNSET:
        check_name(task, problems, field="target.task")
    elif not problems.touch("target.task"):
        problems.add("target.task", "is required")
    _check_args(args, problems, payload_bytes_max=payload_bytes_max)
    return TaskTarget(task=task, args=args)


def _to_http(form: TargetForm, problems: Problems, *, payload_bytes_max: int, has_job: bool) -> HttpTarget:
    for name, said in (("task", form.task), ("args", form.args)):
        if said is not UNSET:
            problems.add(f"target.{name}", "has no use for an HTTP call: say type task, or leave it out")
    url = "" if form.url is UNSET else form.url
    if form.url is not UNSET:
        check_url(url, problems, field="target.url", has_job=has_job)
    elif not problems.touch("target.url"):
        problems.add("target.url", "is required")
    if form.headers:
        check_headers(form.headers, problems, field="target.headers", has_job=has_job)
    if form.body is not None:
        _check_body(form.body, problems, payload_bytes_max=payload_bytes_max, has_job=has_job)
    return HttpTarget(
        url=url,
        method=_read_method(form.method, problems),
        headers=form.headers,
        body=form.body,
        body_bytes=_read_bytes(form, problems, payload_bytes_max=payload_bytes_max),
        connect_timeout_ms=_read_connect_timeout(form.connect_timeout, problems),
        expected_status=_read_expected(form.expected_status, problems),
        keep_headers=_read_kept(form.keep_headers, problems),
        tls=_read_tls(form.tls, problems),
        sign=form.sign,
    )


def _http_form(target: HttpTarget) -> HttpTargetForm:
    timeout_ms = target.connect_timeout_ms
    tls = target.tls
    return HttpTargetForm(
        url=target.url,
        method=target.method,
        headers=target.headers,
        body=target.body,
        body_base64=None if target.body_bytes is None else b64encode(target.body_bytes).decode(),
        connect_timeout=_CONNECT_TIMEOUT if timeout_ms is None else format_duration(timeout_ms),
        expected_status=tuple(write_statuses(target.expected_status or SUCCESSES)),
        keep_headers=KEPT_BY_DEFAULT if target.keep_headers is None else target.keep_headers,
        tls=_TLS if tls is None else TlsForm(verify=tls.verify, ca=tls.ca),
        sign=target.sign,
    )


def payload_problem(payload: Any, *, payload_bytes_max: int) -> str | None:
    """Why a payload cannot be kept and sent, or None."""
    return _encoded_problem(_encoded(payload), payload, payload_bytes_max=payload_bytes_max)


def _encoded(payload: Any) -> bytes | None:
    """A payload as it is sent, or None when it cannot be."""
    try:
        return payload.encode() if isinstance(payload, str) else encode(payload)
    except (UnicodeEncodeError, RecursionError):
        return None


def _encoded_problem(encoded: bytes | None, payload: Any, *, payload_bytes_max: int) -> str | None:
    if encoded is None:
        return "must be UTF-8 text, and not nested too deeply"
    if len(encoded) > payload_bytes_max:
        return f"is {len(encoded)} bytes long, and may be {payload_bytes_max}: send larger payloads by reference"
    # A text holds a NUL as it is, JSON holds it escaped; a backslash before the escape makes it six innocent letters.
    if b"\0" in encoded or (b"\\" in encoded and b"\\u0000" in encoded and _holds_nul(payload)):
        return "must not hold NUL characters"
    if encoded.count(b"[") + encoded.count(b"{") > limits.JSON_DEPTH_MAX and _depth(payload) > limits.JSON_DEPTH_MAX:
        return f"must not be nested more than {limits.JSON_DEPTH_MAX} levels deep"
    return None


def _read_method(method: str, problems: Problems) -> str:
    if method.upper() == "POST":
        return "POST"
    if not _TOKEN.fullmatch(method) or len(method) > limits.METHOD_LETTERS_MAX:
        problems.add("target.method", "must be an HTTP method such as POST")
    elif method.upper() in _METHODS_REFUSED:
        problems.add("target.method", f"{method.upper()} is not for targets")
    return method.upper()


def check_url(url: str, problems: Problems, *, field: str, has_job: bool) -> None:
    """A template is looked at as it will be with values put in."""
    if "{{" in url:
        unfillable = list(templates.template_problems(url, has_job=has_job))
        for reason in unfillable:
            problems.add(field, reason)
        if unfillable:
            return
        template = templates.compile_template(url, templates.in_url)
        url = url if template is None else template.fill(templates.SAMPLE)
    if problem := url_problem(url):
        problems.add(field, problem)


def _check_args(args: dict[str, Any], problems: Problems, *, payload_bytes_max: int) -> None:
    if args and (reason := payload_problem(args, payload_bytes_max=payload_bytes_max)):
        problems.add("target.args", reason)


def _check_body(body: Any, problems: Problems, *, payload_bytes_max: int, has_job: bool) -> None:
    encoded = _encoded(body)
    if reason := _encoded_problem(encoded, body, payload_bytes_max=payload_bytes_max):
        problems.add("target.body", reason)
    elif encoded is not None and encoded.count(b"{") > 1 and b"{{" in encoded:
        for path, text in templates.texts_in(body, "target.body"):
            for reason in templates.template_problems(text, has_job=has_job):
                problems.add(CONTROL.sub("?", path), reason)


def _read_bytes(form: TargetForm, problems: Problems, *, payload_bytes_max: int) -> bytes | None:
    if form.body_base64 is None:
        return None
    if form.body is not None:
        problems.add("target.body_base64", "cannot be given together with target.body")
    try:
        body = b64decode(form.body_base64, validate=True)
    except (Error, ValueError):
        problems.add("target.body_base64", "is not base64")
        return None
    if len(body) > payload_bytes_max:
        reason = f"is {len(body)} bytes long, and may be {payload_bytes_max}: send larger payloads by reference"
        problems.add("target.body_base64", reason)
    return body


def _read_connect_timeout(timeout: str, problems: Problems) -> int | None:
    if timeout == _CONNECT_TIMEOUT:
        return None
    least_ms, most_ms = limits.CONNECT_TIMEOUT_MS_MIN, limits.CONNECT_TIMEOUT_MS_MAX
    timeout_ms = read_duration(timeout, "target.connect_timeout", problems, least_ms=least_ms, most_ms=most_ms)
    return None if timeout_ms == limits.CONNECT_TIMEOUT_MS_DEFAULT else timeout_ms


def _read_expected(terms: Sequence[int | str], problems: Problems) -> Statuses:
    if terms == _EXPECTED:
        return ()
    if not terms:
        problems.add("target.expected_status", "must name a status, otherwise no call could succeed")
    statuses = read_statuses(terms, "target.expected_status", problems)
    return () if statuses == SUCCESSES else statuses


def _read_kept(names: Sequence[str], problems: Problems) -> tuple[str, ...] | None:
    """In lower case, and in the order of their names: what is the same reads the same."""
    if names == KEPT_BY_DEFAULT:
        return None
    if len(names) > limits.KEEP_HEADERS_MAX:
        problems.add("target.keep_headers", f"must be at most {limits.KEEP_HEADERS_MAX}")
        return None
    for index, name in enumerate(names):
        if not _TOKEN.fullmatch(name) or len(name) > limits.NAME_LETTERS_MAX:
            problems.add(f"target.keep_headers[{index}]", "is not the name of a header: use letters, digits and -")
        elif name.lower() in _NEVER_KEPT:
            problems.add(f"target.keep_headers[{index}]", "holds credentials, and is never kept")
    kept = tuple(sorted({name.lower() for name in names}))
    return None if kept == KEPT_BY_DEFAULT else kept


def _read_tls(form: TlsForm, problems: Problems) -> Tls | None:
    if form is _TLS:
        return None
    if form.ca is not None and (reason := _ca_problem(form.ca)):
        problems.add("target.tls.ca", reason)
    elif form.ca is not None and not form.verify:
        problems.add("target.tls.ca", "has no use where verify is false")
    return None if form == _TLS else Tls(verify=form.verify, ca=form.ca)


def _ca_problem(text: str) -> str | None:
    if len(text) > limits.CA_LETTERS_MAX:
        return f"is longer than {limits.CA_LETTERS_MAX} letters"
    if "PRIVATE KEY" in text:
        return "must hold certificates only, and no private key"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, TypeError, ValueError):
        return "must be certificates as PEM (-----BEGIN CERTIFICATE-----)"
    return None


def check_headers(headers: dict[str, str], problems: Problems, *, field: str, has_job: bool) -> None:
    """Refuse what no client may send, each by its name behind `field`."""
    if len(headers) > limits.HEADERS_MAX:
        problems.add(field, f"must be at most {limits.HEADERS_MAX}")
        return
    seen = set()
    for name, value in headers.items():
        if reason := _header_problem(name, value):
            problems.add(f"{field}.{CONTROL.sub('?', name)}", reason)
        elif name.lower() in seen:
            problems.add(f"{field}.{name}", "is given twice, in different letters")
        else:
            for reason in templates.template_problems(value, has_job=has_job):
                problems.add(f"{field}.{name}", reason)
        seen.add(name.lower())


def _header_problem(name: str, value: str) -> str | None:
    if not _TOKEN.fullmatch(name):
        return "is not the name of a header: use letters, digits and -"
    if name.lower() in _HEADERS_REFUSED or name.lower().startswith(_HEADER_PREFIX_REFUSED):
        return "is set by Dueline itself"
    if len(name) + len(value) > limits.HEADER_LETTERS_MAX:
        return f"is longer than {limits.HEADER_LETTERS_MAX} letters"
    if not _HEADER_VALUE.fullmatch(value):
        return "must be plain ASCII text on one line"
    return "must not begin or end with a space" if value != value.strip() else None


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any("\0" in name or _holds_nul(inner) for name, inner in value.items())
    return isinstance(value, list) and any(_holds_nul(inner) for inner in value)


def _depth(value: Any) -> int:
    """Levels of lists and objects, without recursion, because it may be deep."""
    depth, level = 0, [value]
    while level := [inner for inner in level if isinstance(inner, dict | list)]:
        depth += 1
        level = [child for inner in level for child in (inner.values() if isinstance(inner, dict) else inner)]
    return depth
