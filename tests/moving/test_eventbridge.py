"""Schedules and rules of EventBridge become jobs."""

import json
from typing import Any

import pytest

from dueline.domain.errors import Invalid
from dueline.moving.entries import Entry
from tests.moving.moved import converted, differ, file, job, only, reason


def entries(name: str, **options: object) -> dict[str, Entry]:
    found = file("eventbridge", name, **options)
    return {place.partition(" ")[2]: entry for place, entry in found.items()}


def schedule(expression: str, **said: Any) -> str:
    return json.dumps({"Name": "a", "ScheduleExpression": expression, "Target": {"Arn": "arn:aws:sqs:x:1:q"}, **said})


def test_a_whole_schedule() -> None:
    entry = entries("schedules.json")["nightly"]
    assert job(entry) == {
        "name": "nightly",
        "target": {"type": "task", "task": "report", "args": {"full": True}},
        "schedule": {"cron": "30 2 * * MON-FRI", "timezone": "Europe/Berlin", "dst_gap": "skip", "jitter": "PT15M"},
        "retry": {"max_attempts": 5, "cap": "PT15M", "max_elapsed": "PT1H"},
        "expires_after": "PT1H",
        "overlap": "allow",
        "misfire": {"policy": "fire_all", "window": "PT1H"},
    }
    assert any("dead-letter queue" in note for note in entry.notes)


def test_other_schedules() -> None:
    found = entries("schedules.json", include_disabled=True)
    end = job(found["month-end"])
    assert end["name"] == "billing/month-end"
    assert end["target"] == {"type": "task", "task": "sqs.sendMessage", "args": {"input": "plain"}}
    assert end["schedule"] == {
        "cron": "0 0 18 L * * 2026-2028",
        "timezone": "America/New_York",
        "dst_gap": "skip",
        "end_at": "2028-01-31T00:00:00.000Z",
    }
    assert end["retry"] == {"max_attempts": 100, "cap": "PT15M", "max_elapsed": "P1D"}
    assert job(found["second-tuesday"])["schedule"] == {"cron": "0 10 * * TUE#2", "timezone": "UTC"}
    rate = found["five-minutes"]
    assert job(rate)["schedule"] == {"every": "PT5M", "start_at": "2026-01-01T00:00:00.000Z"}
    assert any("SqsParameters" in note for note in rate.notes)
    assert job(found["once"])["schedule"] == {"at": "2026-11-20T04:00:00.000Z"}
    assert any("finished" in note for note in found["once"].notes)
    assert "past" in reason(found["over"])
    assert "get-schedule" in reason(found["listed"])


def test_a_disabled_one_is_left_out() -> None:
    assert "switched off" in reason(entries("schedules.json")["second-tuesday"])


def test_cloudformation() -> None:
    found = entries("template.json")
    assert job(found["Nightly"])["target"]["task"] == "Nightly"
    assert job(found["Nightly"])["schedule"]["cron"] == "0/30 9-17 * * MON-FRI"
    first, second = found["Hourly, target first"], found["Hourly, target second"]
    assert (job(first)["name"], job(first)["target"]["args"]) == ("Hourly-first", {"input": [1, 2]})
    assert job(second)["schedule"] == {"every": "PT1H"}
    assert any("InputTransformer" in note for note in second.notes)
    assert "put together" in reason(found["Substituted"])
    assert len(found) == 4, "a rule for events is no schedule"


def test_terraform_state() -> None:
    found = entries("state.json", include_disabled=True)
    nightly = job(found["nightly"])
    assert nightly["schedule"] == {"cron": "15 1 1W * *", "timezone": "UTC", "jitter": "PT5M"}
    assert nightly["retry"]["max_attempts"] == 1
    assert nightly["expires_after"] == "PT1M"
    assert job(found["shop-hourly"])["target"]["task"] == "hourly"


def test_terraform_files() -> None:
    text = json.dumps(
        {
            "resource": {
                "aws_cloudwatch_event_rule": {"nightly": {"schedule_expression": "rate(1 day)"}},
                "aws_cloudwatch_event_target": {
                    "t": {"rule": "${aws_cloudwatch_event_rule.nightly.name}", "arn": "arn:aws:lambda:x:1:function:f"}
                },
            }
        }
    )
    entry = only("eventbridge", text)
    assert (job(entry)["name"], job(entry)["target"]["task"]) == ("nightly", "f")


def test_a_rule_without_its_targets() -> None:
    entry = only("eventbridge", '{"Rules": [{"Name": "r", "ScheduleExpression": "rate(2 hours)", "State": "ENABLED"}]}')
    assert job(entry)["target"]["task"] == "r"
    assert "targets are not in the file" in entry.notes[0]


@pytest.mark.parametrize(
    ("inside", "cron"),
    [
        ("15 10 ? * 6L *", "15 10 * * FRIL"),
        ("0 0 ? * L *", "0 0 * * SAT"),
        ("0 0 LW * ? *", "0 0 LW * *"),
        ("0 0 L-2 * ? *", "0 0 L-2 * *"),
        ("0 8 1 * ? *", "0 8 1 * *"),
        ("0/15 * * * ? *", "0/15 * * * *"),
        ("0 18 ? * MON,WED-FRI *", "0 18 * * MON,WED-FRI"),
        ("0 0 ? * 1/3 *", "0 0 * * SUN,WED,SAT"),
        ("0 0 1/10 JAN-MAR ? *", "0 0 1/10 JAN-MAR *"),
        ("0 0 31W * ? *", "0 0 31W * *"),
        ("0 12 ? * 3#5 2026/2", "0 0 12 * * TUE#5 2026/2"),
    ],
)
def test_an_expression(inside: str, cron: str) -> None:
    entry = only("eventbridge", schedule(f"cron({inside})"))
    assert job(entry)["schedule"] == {"cron": cron, "timezone": "UTC"}
    assert differ(entry, "2026-01-01T00:00:00Z", 366) == []


@pytest.mark.parametrize("inside", ["30 2 * * ? *", "0 1-3 * * ? *", "5,35 2,3 ? * SUN *"])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_what_is_jumped_over_is_skipped_and_nothing_runs_twice(inside: str, zone: str) -> None:
    entry = only("eventbridge", schedule(f"cron({inside})", ScheduleExpressionTimezone=zone))
    for since in ("2026-03-06T00:00:00Z", "2026-04-03T00:00:00Z", "2026-10-02T00:00:00Z", "2026-10-24T00:00:00Z"):
        assert differ(entry, since, 10) == []


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("cron(0 0 * * * *)", "exactly one of"),
        ("cron(0 0 ? * ? *)", "exactly one of"),
        ("cron(0 0 * * ?)", "has 5 fields"),
        ("cron(0 0 ? * 8 *)", "not within 1-7"),
        ("cron(0 0 ? * 6-2 *)", "runs backwards"),
        ("cron(60 0 * * ? *)", "not within 0-59"),
        ("cron(? 0 * * ? *)", "minutes"),
        ("rate(0 minutes)", "no rate such as"),
        ("rate(5 weeks)", "no rate such as"),
        ("every day", "no cron"),
        ("at(tomorrow)", "no time such as"),
        ("at(9999-12-31T23:59:59)", "no time such as"),
        ("at(2027-01-01T00:00:00+01:00)", "no time such as"),
        ("cron(0 0 31 2 ? *)", "never fires"),
    ],
)
def test_a_bad_expression_is_refused_with_its_reason(expression: str, told: str) -> None:
    assert told in reason(only("eventbridge", schedule(expression, ScheduleExpressionTimezone="America/New_York")))


def test_a_time_that_the_clocks_jump_over_is_refused() -> None:
    text = schedule("at(2026-03-29T02:30:00)", ScheduleExpressionTimezone="Europe/Berlin")
    assert "jump over" in reason(only("eventbridge", text))


def test_a_zone_that_is_put_together_is_refused() -> None:
    text = schedule("rate(5 minutes)", ScheduleExpressionTimezone={"Ref": "Zone"})
    assert "put together elsewhere" in reason(only("eventbridge", text))


@pytest.mark.parametrize("text", ["{}", '{"Resources": {}}', "[]", "nothing", ""])
def test_a_file_without_schedules(text: str) -> None:
    with pytest.raises(Invalid):
        converted("eventbridge", text)
