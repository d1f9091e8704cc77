"""Any expression of the other schedulers fires as they say, away from what is known to differ."""

import json

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dueline.moving.entries import Entry, Outcome
from tests.moving.moved import differ, only
from tests.moving.test_crontab_lines import PERIODS, ZONES, field

DAYS = ["mon", "wed", "sun"]
EVENTBRIDGE_DATES = st.one_of(field(1, 31), st.sampled_from(["L", "LW", "15W", "31W", "L-3", "1W,L"]))
EVENTBRIDGE_DAYS = st.one_of(field(1, 7, ["MON", "FRI"]), st.sampled_from(["L", "6L", "2#1", "SUN#5", "MON-FRI"]))


def same(entry: Entry, period: tuple[str, int]) -> None:
    assume(entry.outcome is Outcome.CONVERTED)
    assert differ(entry, *period) == []


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(field(0, 59), field(0, 23), field(1, 31), field(1, 12, ["mar", "OCT"]), field(0, 6, DAYS)).map(" ".join),
    st.sampled_from(ZONES),
    st.sampled_from(PERIODS),
)
def test_kubernetes(schedule: str, zone: str, period: tuple[str, int]) -> None:
    spec = {
        "schedule": schedule,
        "timeZone": zone,
        "jobTemplate": {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "b"}]}}}},
    }
    same(only("kubernetes-cronjob", json.dumps({"kind": "CronJob", "metadata": {"name": "a"}, "spec": spec})), period)


@settings(max_examples=60, deadline=None)
@given(
    field(0, 59),
    field(0, 23).filter(lambda hours: "*" not in hours),
    st.one_of(st.tuples(EVENTBRIDGE_DATES, st.just("?")), st.tuples(st.just("?"), EVENTBRIDGE_DAYS)),
    field(1, 12, ["MAR", "OCT"]),
    st.sampled_from(["*", "2026", "2026-2027"]),
    st.sampled_from(ZONES),
    st.sampled_from(PERIODS),
)
def test_eventbridge(
    minute: str, hour: str, days: tuple[str, str], month: str, year: str, zone: str, period: tuple[str, int]
) -> None:
    expression = f"cron({minute} {hour} {days[0]} {month} {days[1]} {year})"
    said = {"Name": "a", "ScheduleExpression": expression, "ScheduleExpressionTimezone": zone, "Target": {"Arn": "a"}}
    same(only("eventbridge", json.dumps(said)), period)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["minute", "hour", "day", "month", "day_of_week"]), st.just(""), min_size=1),
    st.data(),
    st.sampled_from(ZONES),
    st.sampled_from(PERIODS),
)
def test_apscheduler(names: dict[str, str], data: st.DataObject, zone: str, period: tuple[str, int]) -> None:
    spans = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "day_of_week": (0, 6)}
    fields = {name: data.draw(field(*spans[name])) for name in names}
    written = ", ".join(f"{name}={text!r}" for name, text in fields.items())
    same(only("apscheduler", f"s.add_job(f, 'cron', {written}, timezone={zone!r})"), period)


@settings(max_examples=60, deadline=None)
@given(
    field(0, 59),
    field(0, 23).filter(lambda hours: "*" not in hours),
    field(0, 6, ["mon", "friday"]),
    field(1, 31),
    field(1, 12),
    st.sampled_from(ZONES),
    st.sampled_from(PERIODS),
)
def test_celery(
    minute: str, hour: str, weekday: str, date: str, month: str, zone: str, period: tuple[str, int]
) -> None:
    fields = f"{minute!r}, {hour!r}, {weekday!r}, {date!r}, {month!r}"
    text = f"timezone = {zone!r}\nbeat_schedule = {{'a': {{'task': 't', 'schedule': crontab({fields})}}}}"
    same(only("celery-beat", text), period)
