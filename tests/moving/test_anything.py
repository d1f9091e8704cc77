"""Whatever a file holds, it is converted, or refused with a reason: nothing else may come of it."""

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain.errors import Invalid
from dueline.moving.sources import SOURCES
from tests.moving.moved import converted

WORDS = [
    *(
        "kind",
        "CronJob",
        "metadata",
        "name",
        "spec",
        "schedule",
        "jobTemplate",
        "template",
        "containers",
        "items",
        "env",
    ),
    *(
        "Resources",
        "Type",
        "AWS::Events::Rule",
        "Properties",
        "Targets",
        "ScheduleExpression",
        "Name",
        "Target",
        "Input",
    ),
    *("model", "django_celery_beat.periodictask", "fields", "crontab", "interval", "args", "kwargs", "task", "enabled"),
    *(
        "id",
        "func",
        "trigger",
        "cron",
        "hour",
        "timezone",
        "start_date",
        "run_date",
        "max_instances",
        "values",
        "resource",
    ),
    *(
        "0 9 * * *",
        "@hourly",
        "@every 1h",
        "rate(5 minutes)",
        "cron(0 9 * * ? *)",
        "at(2027-01-01T00:00:00)",
        "2027-01-01",
    ),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 400),
    st.floats(),
    st.just(1e300),
    st.sampled_from(WORDS),
    st.text(max_size=5),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(WORDS), inner, max_size=6)),
    max_leaves=25,
)
LINES = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.lists(st.sampled_from([*WORDS, "*", "1-5", "root", "A=b", "%"]), max_size=7).map(" ".join),
    ),
    max_size=5,
).map("\n".join)
VALUES_OF_PYTHON = VALUES.map(repr)


def tried(source: str, text: str) -> None:
    with contextlib.suppress(Invalid):
        for entry in converted(source, text):
            assert entry.job is not None or entry.notes


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=80, deadline=None)
@given(text=LINES)
def test_any_text(source: str, text: str) -> None:
    tried(source, text)


@pytest.mark.parametrize("source", SOURCES)
@settings(max_examples=80, deadline=None)
@given(value=VALUES)
def test_any_json(source: str, value: object) -> None:
    tried(source, json.dumps(value))


@settings(max_examples=80, deadline=None)
@given(spec=st.dictionaries(st.sampled_from([*WORDS, "timeZone", "backoffLimit", "suspend"]), VALUES, max_size=8))
def test_any_cronjob(spec: dict[str, object]) -> None:
    tried("kubernetes-cronjob", json.dumps({"kind": "CronJob", "metadata": {"name": "a"}, "spec": spec}))


@settings(max_examples=80, deadline=None)
@given(said=st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6), expression=st.sampled_from(WORDS))
def test_any_schedule_of_eventbridge(said: dict[str, object], expression: str) -> None:
    tried("eventbridge", json.dumps({"Target": {"Arn": "a"}, **said, "Name": "a", "ScheduleExpression": expression}))


@settings(max_examples=80, deadline=None)
@given(fields=st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6))
def test_any_periodic_task(fields: dict[str, object]) -> None:
    rows = [
        {"model": "django_celery_beat.periodictask", "pk": 1, "fields": {"task": "t", "crontab": 1, **fields}},
        {"model": "django_celery_beat.crontabschedule", "pk": 1, "fields": fields},
        {"model": "django_celery_beat.intervalschedule", "pk": 1, "fields": {"every": 1, "period": "days"}},
    ]
    tried("celery-beat", json.dumps(rows))


@settings(max_examples=80, deadline=None)
@given(when=VALUES_OF_PYTHON, entry=st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4).map(repr))
def test_any_values_of_python(when: str, entry: str) -> None:
    tried("celery-beat", f"beat_schedule = {{'a': {{'task': 't', **{entry}, 'schedule': crontab(hour={when})}}}}")
    tried(
        "celery-beat",
        f"beat_schedule = {{'a': {{'task': 't', 'args': {when}, 'options': {entry}, 'schedule': {when}}}}}",
    )
    tried("apscheduler", f"s.add_job(f, 'cron', hour={when}, args={when}, **{entry})")
    tried(
        "apscheduler",
        f"s.add_job(f, 'cron', minute={when}, timezone={when}, start_date={when}, misfire_grace_time={when})",
    )
    tried("apscheduler", f"s.add_job(f, 'interval', hours={when}, kwargs={entry}, jitter={when}, max_instances={when})")
    tried("apscheduler", f"s.add_job(f, {when}, run_date={when})")
