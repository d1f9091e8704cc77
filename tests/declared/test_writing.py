"""Jobs, written so that they can be declared again: no more than somebody would have said."""

from typing import Any

import pytest
import yaml

from dueline.declared.writing import documents_of, to_declaration, to_yaml, with_credentials
from tests.declared.views import shown

URL = "http://127.0.0.1:9/"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {"name": "a", "target": {"url": URL}}),
        (
            {"schedule": "0 9 * * *"},
            {"name": "a", "schedule": {"cron": "0 9 * * *", "timezone": "UTC"}, "target": {"url": URL}},
        ),
        ({"target": {"task": "t"}}, {"name": "a", "target": {"task": "t"}}),
        ({"target": {"task": "t", "args": {"n": 0}}}, {"name": "a", "target": {"task": "t", "args": {"n": 0}}}),
        ({"target": {"url": URL, "body": False}}, {"name": "a", "target": {"url": URL, "body": False}}),
        (
            {"target": {"url": URL, "tls": {"verify": False}, "sign": False, "method": "get", "keep_headers": []}},
            {
                "name": "a",
                "target": {
                    "url": URL,
                    "method": "GET",
                    "keep_headers": [],
                    "tls": {"verify": False, "ca": None},
                    "sign": False,
                },
            },
        ),
        (
            {"retry": {"max_attempts": 2}, "misfire": {"policy": "skip"}, "priority": 0},
            {
                "name": "a",
                "target": {"url": URL},
                "priority": 0,
                "retry": {"max_attempts": 2},
                "misfire": {"policy": "skip"},
            },
        ),
        ({"concurrency": 5}, {"name": "a", "target": {"url": URL}, "concurrency": {"limit": 5}}),
        (
            {"concurrency": 5, "overlap": "skip"},
            {"name": "a", "target": {"url": URL}, "concurrency": {"limit": 5}, "overlap": "skip"},
        ),
        ({"overlap": "allow"}, {"name": "a", "target": {"url": URL}, "overlap": "allow"}),
        ({"tags": ["x", "owner:me", "y"]}, {"name": "a", "target": {"url": URL}, "tags": ["x", "y"]}),
    ],
)
def test_what_is_the_default_anyway_is_left_out(written: Any, expected: Any) -> None:
    found = to_declaration(shown(name="a", **written))
    assert found == expected
    assert next(iter(found)) == "name"


def test_a_document_for_each_owner_with_its_jobs_by_name() -> None:
    jobs = [
        shown(name=name, tags=tags)
        for name, tags in (("c", []), ("b", ["owner:y"]), ("a", ["owner:y"]), ("d", ["owner:x"]))
    ]
    told = [(one["owner"], [job["name"] for job in one["jobs"]]) for one in documents_of(jobs)]
    assert told == [("x", ["d"]), ("y", ["a", "b"]), (None, ["c"])]


def test_other_readers_of_yaml_read_the_same() -> None:
    texts = ["on", "no", "2026-03-29", "1e5", "12:30:00", "0o17", "~", "null", "a\nb\n", " x", "<<", "0 9 * * *"]
    document = {"jobs": [{"name": text, "priority": number} for number, text in enumerate(texts)]}
    assert yaml.safe_load(to_yaml([document])) == document


def test_lines_stay_lines() -> None:
    assert to_yaml([{"ca": "one\ntwo\n"}]) == "---\nca: |\n  one\n  two\n"


def test_headers_that_look_like_credentials_are_told() -> None:
    jobs = [
        shown(name="a", target={"url": URL, "headers": {"X-Trace": "1"}}),
        shown(name="b", target={"url": URL, "headers": {"Authorization": "Bearer x"}}),
        shown(name="c", target={"url": URL, "headers": {"x-api-key": "x"}}),
        shown(name="d", target={"task": "t"}),
    ]
    assert with_credentials(jobs) == ["b", "c"]
