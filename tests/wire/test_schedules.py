"""Schedules as people write them: every form is read, refused where it is wrong, and shown in one canonical form that means the same."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.firetimes import compile_schedule
from dueline.domain.instants import parse_instant
from dueline.domain.localtime import DstGap
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, OnExcluded, Repeat, Rule, Schedule
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_value
from dueline.wire.schedules import ScheduleForm, schedule_form, to_schedule

NOW_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z, a Thursday."""
SEED = b"0123456789abcdef"


class Holder(msgspec.Struct, forbid_unknown_fields=True):
    schedule: ScheduleForm | str | None = None


def read(asked: Any, current: Schedule | None = None) -> tuple[Schedule | None, list[tuple[str, str]]]:
    """A schedule as a request has it, and what is wrong with it."""
    problems = Problems()
    form = read_value({"schedule": asked}, Holder, problems).schedule
    schedule = to_schedule(form, problems, seed=SEED, now_ms=NOW_MS, current=current)
    return schedule, problems.found


def understood(asked: Any, current: Schedule | None = None) -> Schedule:
    schedule, problems = read(asked, current)
    assert problems == []
    assert schedule is not None
    return schedule


def shown(schedule: Schedule) -> Any:
    return decode(encode(schedule_form(schedule)))


DAILY = {"cron": "0 9 * * *", "timezone": "Europe/Berlin"}
EVERY = {"every": "PT15M", "start_at": "2026-01-01T00:00:00.000Z"}

FORMS: list[tuple[Any, Any]] = [
    ("0 9 * * 1-5", {"cron": "0 9 * * 1-5", "timezone": "UTC"}),
    ("  @daily ", {"cron": "0 0 * * *", "timezone": "UTC"}),
    ("15m", EVERY),
    ("PT15M", EVERY),
    ("2026-03-29T01:30:00+02:00", {"at": "2026-03-28T23:30:00.000Z"}),
    ("R5/2026-01-31T00:00:00Z/P1M", {"repeat": "R5/2026-01-31T00:00:00Z/P1M", "timezone": "UTC"}),
    ("every weekday at 9:00 Europe/Berlin", {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}),
    ("every 15 minutes", EVERY),
    ("tomorrow at 7pm", {"at": "2026-01-02T19:00:00.000Z"}),
    ("15 minutes after each run ends", {"after": "PT15M", "start_at": "2026-01-01T00:15:00.000Z"}),
    ({"text": "daily at 9:00", "timezone": "Europe/Berlin"}, DAILY),
    ({"text": "0 9 * * *", "timezone": "Europe/Berlin", "jitter": "5m"}, {**DAILY, "jitter": "PT5M"}),
    ({"text": "tomorrow at 7pm", "timezone": "Europe/Berlin"}, {"at": "2026-01-02T18:00:00.000Z"}),
    ("every 3 days at 9:00 from 2027-01-01", {"repeat": "R/2027-01-01T09:00:00Z/P3D", "timezone": "UTC"}),
    ({"calendar": {"hour": 9, "days_of_week": "MON-FRI"}}, {"cron": "0 9 * * MON-FRI", "timezone": "UTC"}),
    ({"calendar": {"hour": [9, 17], "date": 1}}, {"cron": "0 9,17 1 * *", "timezone": "UTC"}),
    ({"after": "90s"}, {"after": "PT1M30S", "start_at": "2026-01-01T00:01:30.000Z"}),
    (
        {"after": "90s", "start_at": "2026-02-01T00:00:00Z"},
        {"after": "PT1M30S", "start_at": "2026-02-01T00:00:00.000Z"},
    ),
    (
        {"rrule": "FREQ=DAILY", "start_at": "2026-01-05T08:00:00Z"},
        {"rrule": "DTSTART:20260105T080000Z\nRRULE:FREQ=DAILY", "timezone": "UTC"},
    ),
    (
        {"rrule": "DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY"},
        {"rrule": "DTSTART;TZID=Europe/Berlin:20260105T090000\nRRULE:FREQ=DAILY", "timezone": "Europe/Berlin"},
    ),
    (
        {
            **DAILY,
            "start_at": "2026-02-01T00:00:00Z",
            "end_at": "2026-03-01T00:00:00Z",
            "max_runs": 5,
            "jitter": "PT5M",
        },
        {
            **DAILY,
            "start_at": "2026-02-01T00:00:00.000Z",
            "end_at": "2026-03-01T00:00:00.000Z",
            "max_runs": 5,
            "jitter": "PT5M",
        },
    ),
    (
        {**DAILY, "calendars": ["holidays", "b"], "on_excluded": "before"},
        {**DAILY, "calendars": ["holidays", "b"], "on_excluded": "before"},
    ),
    ({**DAILY, "calendars": [], "on_excluded": "skip"}, DAILY),
    (
        {"every": "1h", "timezone": "Europe/Berlin", "calendars": ["holidays"]},
        {
            "every": "PT1H",
            "start_at": "2026-01-01T00:00:00.000Z",
            "timezone": "Europe/Berlin",
            "calendars": ["holidays"],
        },
    ),
    (
        {
            **DAILY,
            "changed": [{"at": "2026-01-03T08:00:00Z"}, {"at": "2026-01-02T08:00:00Z", "to": "2026-01-02T12:00:00Z"}],
        },
        {
            **DAILY,
            "changed": [
                {"at": "2026-01-02T08:00:00.000Z", "to": "2026-01-02T12:00:00.000Z"},
                {"at": "2026-01-03T08:00:00.000Z"},
            ],
        },
    ),
]


@pytest.mark.parametrize(("written", "canonical"), FORMS)
def test_every_form_has_one_canonical_form(written: Any, canonical: Any) -> None:
    assert shown(understood(written)) == canonical


@pytest.mark.parametrize("written", [written for written, _ in FORMS])
def test_a_canonical_form_means_the_same(written: Any) -> None:
    schedule = understood(written)
    assert understood(shown(schedule)) == schedule
    assert understood(shown(schedule), current=schedule) == schedule


REFUSED: list[tuple[Any, str, str]] = [
    ("", "schedule", ""),
    ("61 * * * *", "schedule", "minute at column 1"),
    ("0 9 * *", "schedule", "number of fields"),
    ("0 0 31 2 *", "schedule", "never fires"),
    ("every blue moon", "schedule", "column"),
    ("0.5s", "schedule", "PT1S is the shortest"),
    ("2020-01-01T00:00:00Z", "schedule", "allow_past"),
    ("R5/2026-01-31T00:00:00Z", "schedule", "parts"),
    ("FREQ=OFTEN", "schedule", "FREQ"),
    ("x" * 40_000, "schedule", "longer than"),
    ({"text": "61 * * * *"}, "schedule.text", "minute at column 1"),
    ({"text": "daily at 9:00", "cron": "* * * * *"}, "schedule.text", "goes without cron"),
    ({"text": "daily at 9:00 Europe/Berlin", "timezone": "Asia/Tokyo"}, "schedule.text", "leave one out"),
    ({"text": "daily at 9:00", "timezone": "Nowhere"}, "schedule.timezone", "unknown time zone"),
    ({"text": "15m", "timezone": "Europe/Berlin"}, "schedule.timezone", "wall times"),
    ({"calendar": {}}, "schedule.calendar", "no fields"),
    ({"calendar": {"hour": 25}}, "schedule.calendar.hour", "column 1"),
    ({"calendar": {"huor": 9}}, "schedule.calendar.huor", "did you mean"),
    ({"calendar": {"date": 31, "month": 2}}, "schedule.calendar", "never fires"),
    ({"calendar": {"hour": 1.5}}, "schedule.calendar.hour", "whole number"),
    ({"calendar": 9}, "schedule.calendar", "object"),
    ({"after": "0s"}, "schedule.after", "PT1S is the shortest"),
    ({"after": "soon"}, "schedule.after", "not a duration"),
    ({"after": "1m", "dst_gap": "skip"}, "schedule.dst_gap", "goes with cron"),
    ({"repeat": "R0/x/P1M"}, "schedule.repeat", ""),
    ({"repeat": "R/2026-01-01T00:00:00Z/P1D", "start_at": "2026-01-01T00:00:00Z"}, "schedule.start_at", "goes with"),
    ({"repeat": "R2/2020-01-01T00:00:00Z/P1D"}, "schedule", "never fires"),
    ({"rrule": "FREQ=DAILY;BYDAY=XX"}, "schedule.rrule", ""),
    ({"rrule": "RDATE:20260101"}, "schedule.rrule", "line 1"),
    (
        {"rrule": "DTSTART:20260105T080000Z\nRRULE:FREQ=DAILY", "start_at": "2026-01-05T08:00:00Z"},
        "schedule.start_at",
        "DTSTART",
    ),
    ({"at": "2026-02-01T00:00:00Z", "end_at": "2026-03-01T00:00:00Z"}, "schedule.end_at", "not with at"),
    ({"at": "2026-02-01T00:00:00Z", "max_runs": 1}, "schedule.max_runs", "not with at"),
    ({"at": "2026-02-01T00:00:00Z", "changed": [{"at": "2026-02-01T00:00:00Z"}]}, "schedule.changed", "nothing"),
    ({**DAILY, "end_at": "2025-01-01T00:00:00Z"}, "schedule.end_at", "before the first"),
    (
        {**DAILY, "start_at": "2027-01-01T00:00:00Z", "end_at": "2026-06-01T00:00:00Z"},
        "schedule.end_at",
        "before start_at",
    ),
    ({**EVERY, "end_at": "2025-01-01T00:00:00Z"}, "schedule.end_at", "before the first"),
    ({"after": "1h", "end_at": "2026-01-01T00:30:00Z"}, "schedule.end_at", "before the first"),
    ({**DAILY, "max_runs": 0}, "schedule.max_runs", "between 1"),
    ({**DAILY, "jitter": "2d"}, "schedule.jitter", "between"),
    ({**DAILY, "jitter": "-1m"}, "schedule.jitter", "not a duration"),
    ({**DAILY, "calendars": ["a", "a"]}, "schedule.calendars[1]", "twice"),
    ({**DAILY, "calendars": ["a b"]}, "schedule.calendars[0]", "letters"),
    ({**DAILY, "calendars": [str(n) for n in range(11)]}, "schedule.calendars", "at most 10"),
    ({**DAILY, "calendars": "a"}, "schedule.calendars", "a list"),
    ({**DAILY, "on_excluded": "after"}, "schedule.on_excluded", "goes with calendars"),
    ({"at": "9999-12-31T23:59:59.999Z", "calendars": ["a"]}, "schedule.at", "before the year 9000"),
    (
        {"every": "1h", "start_at": "9999-12-31T23:59:59.999Z", "calendars": ["a"]},
        "schedule.start_at",
        "before the year 9000",
    ),
    (
        {**DAILY, "start_at": "9999-12-31T23:59:59.999Z", "calendars": ["a"]},
        "schedule.start_at",
        "before the year 9000",
    ),
    ({"repeat": "R/9998-01-01T00:00:00Z/P1D", "calendars": ["a"]}, "schedule.repeat", "before the year 9000"),
    ({**DAILY, "on_excluded": "never"}, "schedule.on_excluded", "skip or before or after"),
    ({**DAILY, "changed": [{"to": "2026-01-02T08:00:00Z"}]}, "schedule.changed[0].at", "required"),
    ({**DAILY, "changed": [{"at": "soon"}]}, "schedule.changed[0].at", "RFC 3339"),
    ({**DAILY, "changed": [{"at": "2026-01-02T08:00:00Z"}] * 2}, "schedule.changed[1].at", "twice"),
    ({**DAILY, "changed": [{"at": "2026-01-02T08:00:00Z"}] * 1_001}, "schedule.changed", "at most 1000"),
    (5, "schedule", ""),
    (["0 9 * * *"], "schedule", ""),
]


@pytest.mark.parametrize(("written", "field", "reason"), REFUSED)
def test_what_is_wrong_is_told_where_it_stands(written: Any, field: str, reason: str) -> None:
    _, problems = read(written)
    assert [found for found, _ in problems] == [field]
    assert reason in problems[0][1]


def test_the_same_schedule_written_again_keeps_its_anchor() -> None:
    later_ms = NOW_MS + 12_345
    kept: list[tuple[Any, Schedule]] = [
        ("15m", Every(900_000, NOW_MS - 7)),
        ({"after": "15m"}, After(900_000, NOW_MS - 7)),
        ("FREQ=DAILY", Rule("FREQ=DAILY", NOW_MS - 86_400_000)),
    ]
    for written, current in kept:
        problems = Problems()
        form = read_value({"schedule": written}, Holder, problems).schedule
        assert to_schedule(form, problems, seed=SEED, now_ms=later_ms, current=current) == current


@pytest.mark.parametrize(
    "written",
    [
        "every 3 days at 9:00",
        "every 2 weeks on monday at 9:00 Europe/Berlin",
        "P1M",
        {"every": "P1Y", "timezone": "Europe/Berlin"},
        {"text": "every 3 days at 9:00", "jitter": "5m"},
    ],
)
@pytest.mark.parametrize("later_ms", [1, 86_400_000, 100 * 86_400_000 + 12_345])
def test_words_that_count_from_when_they_are_read_keep_where_they_began(written: Any, later_ms: int) -> None:
    current = understood(written)
    problems = Problems()
    form = read_value({"schedule": written}, Holder, problems).schedule
    again = to_schedule(form, problems, seed=SEED, now_ms=NOW_MS + later_ms, current=current)
    assert (again, problems.found) == (current, [])


def test_another_repeat_begins_anew() -> None:
    current = understood("every 3 days at 9:00")
    assert isinstance(current, Repeat)
    for written in ("every 3 days at 10:00", "every 2 days at 9:00", "R/2027-01-01T09:00:00Z/P3D"):
        other = understood(written, current)
        assert isinstance(other, Repeat)
        assert other == understood(written)
    jittered = understood({"text": "every 3 days at 9:00", "jitter": "5m"}, current)
    assert jittered == msgspec.structs.replace(current, jitter_ms=300_000)


@pytest.mark.parametrize("start", ["9999-12-31T00:00:00Z", "1970-01-01T00:00:00Z"])
def test_a_repeat_from_the_ends_of_time_is_replaced(start: str) -> None:
    current = Repeat(parse_instant(start, field=""), days=3)
    for written in ("every 3 days at 9:00", "P1M"):
        assert understood(written, current) == understood(written)


WORDS = st.sampled_from(
    [
        *(
            "every",
            "day",
            "weekday",
            "monday",
            "at",
            "9:00",
            "on",
            "the",
            "1st",
            "in",
            "january",
            "until",
            "2027-01-01",
        ),
        *(
            "after",
            "each",
            "run",
            "ends",
            "*",
            "*/5",
            "1-5",
            "@daily",
            "H",
            "L",
            "W",
            "#",
            "15m",
            "PT1H",
            ";",
            ",",
            ":",
        ),
        *("R5/2026-01-31T00:00:00Z/P1M", "FREQ=DAILY", "BYDAY=MO", "DTSTART:20260101", "RRULE:", "Europe/Berlin"),
        *("2026-03-29T01:30:00Z", "\n", "\x00", "é"),
    ]
)
TEXTS = st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**12) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.dictionaries(st.sampled_from(ScheduleForm.__struct_fields__), VALUES, max_size=4)


@given(written=TEXTS | VALUES | MEMBERS)
def test_whatever_is_written_is_understood_or_refused(written: Any) -> None:
    schedule, problems = read(written)
    if not problems and schedule is not None:
        assert understood(shown(schedule), current=schedule) == schedule


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Schedules of every kind and shape."""
    ahead_ms = st.integers(1, 400 * 86_400).map(lambda seconds: NOW_MS + seconds * 1000)
    zone = draw(st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"]))
    calendars = draw(st.sampled_from([(), ("holidays",), ("a", "b")]))
    shape: dict[str, Any] = {
        "jitter_ms": draw(st.sampled_from([0, 1, 1_500, 3_600_000])),
        "calendars": calendars,
        "on_excluded": draw(st.sampled_from(list(OnExcluded))) if calendars else OnExcluded.SKIP,
        "changed": tuple(
            ChangedOccurrence(at_ms, draw(st.none() | ahead_ms))
            for at_ms in sorted(draw(st.sets(ahead_ms, max_size=3)))
        ),
    }
    bounds: dict[str, Any] = {
        "end_ms": draw(st.sampled_from([None, 4_000_000_000_000])),
        "max_runs": draw(st.none() | st.integers(1, 9)),
    }
    start_ms = draw(st.none() | ahead_ms)
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return At(draw(ahead_ms), **{**shape, "changed": ()}, timezone=zone if calendars else "UTC")
    if kind == 1:
        return Every(
            draw(st.integers(1_000, 10**9)), draw(ahead_ms), **shape, **bounds, timezone=zone if calendars else "UTC"
        )
    if kind == 2:
        # Neither calendars nor single changes go with it: it does not say beforehand when it comes.
        return After(draw(st.integers(1_000, 10**9)), draw(ahead_ms), jitter_ms=shape["jitter_ms"], **bounds)
    if kind == 3:
        text = draw(st.sampled_from(["0 9 * * *", "*/5 * * * * *", "30 2 L * *", "0 0 9 1 1 * 2030-2199"]))
        return Cron(text, **shape, **bounds, timezone=zone, start_ms=start_ms)
    if kind == 4:
        months, days, clock_ms = draw(st.sampled_from([(1, 0, 0), (0, 7, 0), (0, 0, 5_400_000), (14, 3, 1_500)]))
        return Repeat(
            draw(ahead_ms),
            months,
            days,
            clock_ms,
            draw(st.none() | st.integers(1, 99)),
            **shape,
            **bounds,
            timezone=zone,
        )
    rule = draw(
        st.sampled_from(["FREQ=DAILY", "FREQ=MONTHLY;BYDAY=-1FR", "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE", "FREQ=HOURLY"])
    )
    return Rule(rule, draw(ahead_ms), **shape, **bounds, timezone=zone)


@given(schedule=schedules())
def test_every_schedule_comes_back_from_its_form(schedule: Schedule) -> None:
    again, problems = read(shown(schedule), current=schedule)
    assert problems == []
    assert again == schedule
    if compile_schedule(msgspec.structs.replace(schedule, calendars=())).next_fire_after(NOW_MS) is not None:
        assert understood(shown(schedule)) == schedule


@pytest.mark.parametrize("period", ["P1M", "P1Y", "P1Y2M", "P2M10D"])
def test_months_and_years_are_counted_on_the_calendar(period: str) -> None:
    form = ScheduleForm(every=period, start_at="2026-01-31T09:00:00Z", timezone="Europe/Berlin", dst_gap=DstGap.SKIP)
    problems = Problems()
    schedule = to_schedule(form, problems, seed=b"", now_ms=0, current=None)
    problems.raise_any()
    told = schedule_form(schedule)
    assert told is not None
    assert (told.repeat, told.timezone, told.dst_gap) == (
        f"R/2026-01-31T09:00:00Z/{period}",
        "Europe/Berlin",
        DstGap.SKIP,
    )
