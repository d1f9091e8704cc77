"""What people write, and what is sent."""

from datetime import UTC, date, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest

from dueline.sdk.arguments import patched, to_plain, to_text, without_none, written
from dueline.sdk.errors import Invalid
from dueline.wire.policies import RetryForm
from dueline.wire.schedules import ScheduleForm
from dueline.wire.targets import TaskTargetForm

NAIVE = datetime(2026, 1, 1, 9)
AWARE = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=1)))


@pytest.mark.parametrize(
    ("fields", "sent"),
    [
        ({"url": "u"}, {"target": {"url": "u"}}),
        (
            {"url": "u", "method": "GET", "headers": MappingProxyType({"a": "b"}), "body": "x"},
            {"target": {"url": "u", "method": "GET", "headers": {"a": "b"}, "body": "x"}},
        ),
        ({"url": "u", "body": b"\x00"}, {"target": {"url": "u", "body_base64": "AA=="}}),
        ({"task": "t", "args": {"a": 1}}, {"target": {"task": "t", "args": {"a": 1}}}),
        ({"target": TaskTargetForm(task="t")}, {"target": {"type": "task", "task": "t", "args": {}}}),
        ({"timeout": timedelta(seconds=1.5)}, {"timeout": "PT1.5S"}),
        ({"timeout": "30s"}, {"timeout": "30s"}),
        ({"schedule": timedelta(minutes=15)}, {"schedule": "PT15M"}),
        ({"schedule": AWARE}, {"schedule": "2026-01-01T08:00:00.000Z"}),
        (
            {"schedule": {"cron": "* * * * *", "start_at": AWARE}},
            {"schedule": {"cron": "* * * * *", "start_at": "2026-01-01T08:00:00.000Z"}},
        ),
        ({"schedule": ScheduleForm(every="PT1H")}, {"schedule": {"every": "PT1H"}}),
        ({"schedule": "9am", "timezone": "UTC"}, {"schedule": {"text": "9am", "timezone": "UTC"}}),
        ({"schedule": {"cron": "x", "timezone": "A"}, "timezone": "B"}, {"schedule": {"cron": "x", "timezone": "A"}}),
        ({"retry": {"delays": [timedelta(seconds=1), "2s"]}}, {"retry": {"delays": ["PT1S", "2s"]}}),
        ({"tags": ("a", "b"), "priority": 9}, {"tags": ["a", "b"], "priority": 9}),
    ],
)
def test_keywords_become_what_the_api_has(fields: dict[str, Any], sent: dict[str, Any]) -> None:
    assert written(fields) == sent


def test_a_whole_job_goes_as_it_is_and_keywords_count() -> None:
    whole = {"target": {"url": "u", "body": {"at": NAIVE}}, "priority": 1, "url": "left alone", "name": None}
    assert written({"priority": 2}, whole) == whole | {"priority": 2}


def test_what_is_in_a_payload_is_not_looked_at() -> None:
    day = date(2026, 1, 1)
    assert written({"url": "u", "body": {"at": NAIVE, "day": day}})["target"]["body"] == {"at": NAIVE, "day": day}
    assert to_plain({"target": {"args": {"at": NAIVE}}}) == {"target": {"args": {"at": NAIVE}}}


@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"schedule": NAIVE}, "schedule", "has no time zone: make it aware, for instance with tzinfo=UTC"),
        ({"schedule": {"changed": [{"at": NAIVE}]}}, "schedule.changed[0].at", "has no time zone"),
        ({"timeout": timedelta(seconds=-1)}, "timeout", "is negative"),
        ({"url": "u", "target": {"url": "v"}}, "target", "is given as a whole and by url: say it one way"),
        ({"url": "u", "task": "t"}, "target", "is either a url to call or a task to carry out"),
        ({"timezone": "UTC"}, "timezone", "means nothing without a schedule"),
    ],
)
def test_what_can_never_work_is_refused_with_its_place(fields: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(Invalid) as raised:
        written(fields)
    (error,) = raised.value.errors
    assert error.field == field
    assert reason in error.reason


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as raised:
        to_plain({"due_at": NAIVE, "timeout": timedelta(-1)})
    assert [error.field for error in raised.value.errors] == ["due_at", "timeout"]
    assert raised.value.status == 422


def test_a_patch_keeps_none_and_a_text_takes_the_place_of_a_whole_schedule() -> None:
    assert patched({"priority": None, "retry": RetryForm()})["priority"] is None
    assert patched({"timezone": "UTC"}) == {"schedule": {"timezone": "UTC"}}
    assert patched({"schedule": {"jitter": timedelta(seconds=1)}}) == {"schedule": {"jitter": "PT1S"}}
    assert patched({"schedule": "1h"}) == {"schedule": "1h"}
    replaced = patched({"schedule": "9am", "timezone": "UTC"})["schedule"]
    assert without_none(replaced) == {"text": "9am", "timezone": "UTC"}
    assert set(replaced) == set(ScheduleForm.__struct_encode_fields__)


def test_instants_of_parameters() -> None:
    assert to_text(AWARE.astimezone(UTC), "from_") == "2026-01-01T08:00:00.000Z"
    assert (to_text("tomorrow", "from_"), to_text(None, "from_")) == ("tomorrow", None)
    with pytest.raises(Invalid, match="from_: 2026-01-01 09:00:00 has no time zone"):
        to_text(NAIVE, "from_")
