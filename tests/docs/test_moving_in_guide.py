"""The guide to moving in, held to what the converters do."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dueline.domain import limits
from dueline.moving.sources import SOURCES
from dueline.moving.verifying import FIRES_MAX
from dueline.wire.jobs import TIMEOUT_DEFAULT
from tests.moving.moved import job, only

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "moving-in.md").read_text()
MANIFEST = {
    "kind": "CronJob",
    "metadata": {"name": "a"},
    "spec": {
        "schedule": "0 9 * * *",
        "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
    },
}
PLAINEST = {
    "crontab": "0 9 * * * x",
    "celery-beat": "beat_schedule = {'a': {'task': 't', 'schedule': crontab(hour=9)}}",
    "apscheduler": "s.add_job(f, 'cron', hour=9)",
    "kubernetes-cronjob": json.dumps(MANIFEST),
    "eventbridge": '{"Name": "a", "ScheduleExpression": "cron(0 9 * * ? *)", "Target": {"Arn": "a"}}',
}


def table(heading: str) -> Iterator[list[str]]:
    """The rows of the first table under a heading that begin with code."""
    section = re.split(r"^## ", TEXT.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            yield [cell.strip() for cell in line.strip().strip("|").split("|")]


def code(cell: str) -> str:
    return cell.strip("`")


@pytest.mark.parametrize(("line", "schedule"), list(table("crontab")))
def test_a_line_of_a_crontab(line: str, schedule: str) -> None:
    assert job(only("crontab", code(line), timezone="Europe/Berlin"))["schedule"] == json.loads(code(schedule))


@pytest.mark.parametrize(("written", "schedule"), list(table("Celery's beat")))
def test_a_schedule_of_celery(written: str, schedule: str) -> None:
    text = f"beat_schedule = {{'a': {{'task': 't', 'schedule': {code(written)}}}}}"
    assert job(only("celery-beat", text))["schedule"] == json.loads(code(schedule))


@pytest.mark.parametrize(("written", "schedule"), list(table("APScheduler")))
def test_a_trigger_of_apscheduler(written: str, schedule: str) -> None:
    text = f"s.add_job(f, {code(written)})"
    assert job(only("apscheduler", text))["schedule"] == json.loads(code(schedule))


@pytest.mark.parametrize(("written", "schedule"), list(table("EventBridge")))
def test_an_expression_of_eventbridge(written: str, schedule: str) -> None:
    text = json.dumps({"Name": "a", "ScheduleExpression": code(written), "Target": {"Arn": "a"}})
    assert job(only("eventbridge", text))["schedule"] == json.loads(code(schedule))


@pytest.mark.parametrize("row", list(table("What is carried over")), ids=lambda row: row[0])
def test_what_is_carried_over(row: list[str]) -> None:
    found = job(only(code(row[0]), PLAINEST[code(row[0])]))
    misfire = found["misfire"]
    window = f" within `{misfire['window']}`" if "window" in misfire else ""
    assert row[1:] == [
        f"`{found['overlap']}`",
        f"`{misfire['policy']}`{window}",
        str(found["retry"]["max_attempts"]),
        f"`{found.get('delivery', 'at_least_once')}`",
        f"`{found.get('timeout', TIMEOUT_DEFAULT)}`",
    ]


@pytest.mark.parametrize("heading", ["What is carried over", "When the clocks change"])
def test_every_source_is_told_of(heading: str) -> None:
    assert [code(row[0]) for row in table(heading)] == list(SOURCES)


def test_the_task_for_commands_carries_them_out() -> None:
    (example,) = re.findall(r"```python\n# moved\.py\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {"__name__": "moved"}
    exec(compile(example, "moved.py", "exec"), names)
    args = job(only("crontab", 'GREETING=hello\n0 9 * * * cat; echo "$GREETING 100\\%"%from stdin'))["target"]["args"]
    assert names["command"](**args) == "from stdinhello 100%\n"


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"more than {FIRES_MAX:,} times" in TEXT
    assert f"one more, at most {limits.ATTEMPTS_MAX}" in TEXT
