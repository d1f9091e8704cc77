"""Runs of one call are read as each would be by itself, whatever the others say."""

from random import Random
from typing import Any

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.wire.bulk import item_problems, read_item
from dueline.wire.many_runs import ManyRuns
from dueline.wire.reading import encode
from dueline.wire.runs import AdhocInput, AdhocSpec, to_spec

NOW_MS = 1_767_225_600_000
BYTES_MAX = 1_000
URL = "https://example.com/hook"
CALL = {"url": URL, "body": {"customer": "c-1"}}
LATER = "2026-02-01T00:00:00Z"
LONG_AGO = "2020-02-01T00:00:00Z"

GOOD: list[dict[str, Any]] = [
    {"target": CALL},
    {"target": {"url": URL}},
    {"target": {"url": "https://example.com/{{run.id}}", "body": {"at": "{{run.scheduled_at}}"}}},
    {"target": {**CALL, "method": "put", "headers": {"x-a": "1"}, "keep_headers": ["etag"], "expected_status": [204]}},
    {"target": {**CALL, "method": "put", "headers": {"x-a": "2"}, "keep_headers": ["etag"], "expected_status": [204]}},
    {"target": {"url": URL, "body_base64": "AP8="}},
    {"target": {"url": URL, "body_base64": "AP+A"}},
    {"target": {"task": "mail.send", "args": {"to": "ada"}}},
    {"target": {"task": "mail.send"}},
    {"target": {"type": "task", "task": "mail.send", "args": {}}},
    {"target": CALL, "queue": "mail", "priority": 7, "tags": ["a", "b"], "region": "eu", "requires": ["gpu", "big"]},
    {"target": CALL, "timeout": "20s", "run_timeout": "1h", "expires_after": "2h", "retry": {"max_attempts": 4}},
    {"target": CALL, "fairness_key": "ada"},
    {"target": CALL, "fairness_key": "grace"},
    {"target": CALL, "due_at": LATER},
    {"target": CALL, "due_at": "2026-02-01T01:00:00+01:00"},
    {"target": CALL, "dedupe_key": "k"},
    {"target": CALL, "dedupe_key": "l"},
    {"target": CALL, "dedupe_key": "k", "dedupe_window": "1h", "on_conflict": "replace"},
    {"target": CALL, "concurrency": {"limit": 2, "key": "{{body.customer}}"}},
    {"target": CALL, "notify": {"url": "https://example.com/told"}, "delivery": "at_most_once"},
]
BAD: list[Any] = [
    5,
    None,
    {},
    {"target": None},
    {"target": {}},
    {"target": {**CALL, "args": {"to": "ada"}}},
    {"target": {"url": "ftp://example.com"}},
    {"target": {"url": "https://example.com/{{job.id}}"}},
    {"target": {"url": URL, "body": "{{job.name}}"}},
    {"target": {"url": URL, "body": {"text": "n" * BYTES_MAX}}},
    {"target": {"url": URL, "body": {"text": "\0"}}},
    {"target": {"url": URL, "body": [[[[{"deep": [[[]]]}]]]] + [[]] * 100, "body_base64": "AP8="}},
    {"target": {"task": "mail.send", "args": {"text": "n" * BYTES_MAX}}},
    {"target": {"task": "mail.send", "body": {}}},
    {"target": {"type": "task", "task": "mail.send", "url": URL}},
    {"target": CALL, "quue": "mail"},
    {"target": CALL, "priority": 10},
    {"target": CALL, "queue": "mail", "priority": 7, "tags": ["a", "a"]},
    {"target": CALL, "fairness_key": "a\u2028"},
    {"target": {"url": "x"}, "fairness_key": "a\u2028", "due_at": LONG_AGO, "dedupe_key": ""},
    {"target": CALL, "due_at": LONG_AGO},
    {"target": CALL, "due_at": "tomorrow"},
    {"target": CALL, "dedupe_key": ""},
    {"target": CALL, "dedupe_window": "1h", "on_conflict": "replace"},
    {"target": {"url": URL, "body": {}}, "concurrency": {"limit": 2, "key": "{{body.customer}}"}},
]

Read = AdhocSpec | tuple[tuple[str, str], ...]


def alone(raw: msgspec.Raw) -> Read:
    problems = item_problems()
    spec = to_spec(read_item(raw, AdhocInput, problems), problems, now_ms=NOW_MS, payload_bytes_max=BYTES_MAX)
    return tuple(problems.found) or spec


def among(many: ManyRuns, raw: msgspec.Raw) -> Read:
    try:
        return many.read(raw)
    except Invalid as refusal:
        return tuple(refusal.problems)


@pytest.mark.parametrize("seed", range(20))
def test_a_run_is_read_as_it_would_be_by_itself(seed: int) -> None:
    asked = [msgspec.Raw(encode(item)) for item in (GOOD + BAD) * 3]
    asked.append(msgspec.Raw(b'{"target": {"url": "https://example.com/", "body": 1e400}}'))
    Random(seed).shuffle(asked)
    many = ManyRuns(now_ms=NOW_MS, payload_bytes_max=BYTES_MAX)
    for raw in asked:
        assert among(many, raw) == alone(raw), bytes(raw)


def test_the_runs_here_are_what_they_are_called() -> None:
    assert [item for item in GOOD if not isinstance(alone(msgspec.Raw(encode(item))), AdhocSpec)] == []
    assert [item for item in BAD if isinstance(alone(msgspec.Raw(encode(item))), AdhocSpec)] == []


@pytest.mark.parametrize("item", GOOD + BAD)
def test_a_run_is_read_the_same_after_one_that_is_like_it(item: Any) -> None:
    for first in GOOD:
        many = ManyRuns(now_ms=NOW_MS, payload_bytes_max=BYTES_MAX)
        many.read(msgspec.Raw(encode(first)))
        raw = msgspec.Raw(encode(item))
        assert among(many, raw) == among(many, raw) == alone(raw)


def test_what_no_two_have_in_common_is_read_too() -> None:
    many = ManyRuns(now_ms=NOW_MS, payload_bytes_max=limits.PAYLOAD_BYTES_MAX)
    read = [many.read(msgspec.Raw(encode({"target": CALL, "queue": f"q{n}"}))) for n in range(100)]
    assert [spec.queue for spec in read] == [f"q{n}" for n in range(100)]
