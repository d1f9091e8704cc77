"""Servers that are newer than the program, or older."""

from types import NoneType
from typing import Any

import msgspec
import pytest

from dueline.sdk.answers import Answer, read_answer
from dueline.wire.bulk import BulkJobsView
from dueline.wire.jobs import JobView
from dueline.wire.pages import Page
from dueline.wire.reading import Unreadable
from dueline.wire.runs import RunView
from dueline.wire.targets import HttpTargetForm, TaskTargetForm
from tests.api.serving import ServedApi


def answered(body: Any) -> Answer:
    return Answer(200, {}, msgspec.json.encode(body))


@pytest.fixture
def job(own_api: ServedApi) -> dict[str, Any]:
    created: dict[str, Any] = own_api.create(schedule="0 9 * * *", concurrency=5, name="a")
    return created


def test_an_answer_of_today_is_read_as_it_is(job: dict[str, Any]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(read_answer(answered(job), JobView))) == job


def test_fields_of_tomorrow_are_passed_over_at_any_depth(job: dict[str, Any]) -> None:
    today = read_answer(answered(job), JobView)
    tomorrow = job | {"colour": "blue"}
    for name in ("target", "schedule", "retry", "misfire", "concurrency"):
        tomorrow[name] = job[name] | {"colour": {"deep": [1]}}
    assert read_answer(answered(tomorrow), JobView) == today
    page = read_answer(answered({"items": [tomorrow, job], "next_cursor": None, "total": 2}), Page[JobView])
    assert page.items == [today, today]
    bulk = read_answer(answered({"items": [{"status": 201, "job": tomorrow}], "created": 1, "failed": 0}), BulkJobsView)
    assert bulk.items[0].job == today


def test_words_of_tomorrow_stay_text(job: dict[str, Any]) -> None:
    read = read_answer(answered(job | {"state": "hibernating", "overlap": "queue_two"}), JobView)
    assert (str(read.state), str(read.overlap), read.name) == ("hibernating", "queue_two", "a")


def test_targets_are_told_apart_also_tomorrow(job: dict[str, Any]) -> None:
    http = read_answer(answered(job | {"new": 1}), JobView)
    assert isinstance(http.target, HttpTargetForm)
    task = read_answer(answered(job | {"new": 1, "target": {"type": "task", "task": "t", "new": 2}}), JobView)
    assert task.target == TaskTargetForm(task="t")
    unknown = {"type": "pigeon", "loft": 7}
    target: Any = read_answer(answered(job | {"target": unknown}), JobView).target
    assert target == unknown


def test_what_yesterdays_server_does_not_say_is_none() -> None:
    run: Any = read_answer(answered({"id": "r", "state": "running", "tags": ["a"], "attempts": []}), RunView)
    assert (run.id, run.state, run.tags, run.finished_at, run.headers) == ("r", "running", ("a",), None, None)


def test_answers_without_a_shape() -> None:
    assert read_answer(Answer(204, {}, b""), NoneType) is None
    assert read_answer(Answer(200, {}, b"text \xff"), str) == "text �"
    anything: Any = Any
    assert read_answer(answered([1, {"a": None}]), anything) == [1, {"a": None}]
    assert read_answer(Answer(204, {}, b""), anything) is None


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"id": "\xff"}'])
def test_what_is_not_json_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read_answer(Answer(200, {}, body), RunView)
