"""A slow, obvious account of when a cron expression fires: walk every minute of UTC and look at the wall clock of the zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

# Nights on which the clocks of a zone change, in UTC: by one hour, by half of one, by two; at midnight; not at all.
NIGHTS = [
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Antarctica/Troll", "2026-03-29T01:00"),
    ("Antarctica/Troll", "2026-10-25T01:00"),
    ("America/Santiago", "2026-09-06T04:00"),
    ("America/Santiago", "2026-04-05T03:00"),
    ("Africa/Cairo", "2026-04-23T22:00"),
    ("Africa/Cairo", "2026-10-29T21:00"),
    ("Africa/Casablanca", "2026-02-15T02:00"),
    ("Asia/Kathmandu", "2026-06-01T00:00"),
    ("UTC", "2026-02-28T23:00"),
]
BEFORE_S = 2 * 86_400
AFTER_S = 3 * 86_400
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, repr=False)
class Expression:
    """An expression, and the minutes, hours, days of the month and days of the week that it means."""

    text: str
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def interval_like(self) -> bool:
        """Such patterns follow real time; the others fire once a day for each of their times, whatever the clocks do."""
        minute, hour = self.text.split()[:2]
        return minute.startswith("*") or hour.startswith("*")

    def matches(self, wall: datetime) -> bool:
        if wall.minute not in self.minutes or wall.hour not in self.hours:
            return False
        _, _, day, _, weekday = self.text.split()
        on_day, on_weekday = wall.day in self.days, (wall.weekday() + 1) % 7 in self.weekdays
        both = day.startswith("*") or weekday.startswith("*")
        return (on_day and on_weekday) if both else (on_day or on_weekday)


def night_s(moment: str) -> int:
    return int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())


@lru_cache(maxsize=32)
def minutes_around(zone: str, moment: str) -> list[tuple[int, datetime]]:
    """Every minute around a night, as UTC has it and as the wall clock shows it."""
    middle_s = night_s(moment)
    seconds = range(middle_s - BEFORE_S, middle_s + AFTER_S, 60)
    return [(at_s, datetime.fromtimestamp(at_s, ZoneInfo(zone)).replace(tzinfo=None)) for at_s in seconds]


def fires_around(expression: Expression, zone: str, moment: str) -> list[int]:
    """The seconds at which the expression fires around a night."""
    minutes = minutes_around(zone, moment)
    if expression.interval_like:
        return [at_s for at_s, wall in minutes if expression.matches(wall)]
    fires = []
    reached = minutes[0][1]
    for at_s, wall in minutes:
        # A time that the clocks jumped over is reached with the jump; one that they show again was reached before.
        due = False
        while reached < wall:
            reached += _MINUTE
            due |= expression.matches(reached)
        if due:
            fires.append(at_s)
    return fires


@st.composite
def fields(draw: st.DrawFn, low: int, high: int, *, early: bool = False) -> tuple[str, frozenset[int]]:
    """One field, as text and as what it means; `early` names small numbers only, such as the hours in which clocks change."""
    everything = range(low, high + 1)
    numbers = st.integers(low, low + 3 if early else high)
    steps = st.integers(1, high)
    match draw(st.sampled_from(["*", "*/n", "a", "a,b", "a-b", "a-b/n"])):
        case "*":
            return "*", frozenset(everything)
        case "*/n":
            step = draw(steps)
            return f"*/{step}", frozenset(everything[::step])
        case "a":
            number = draw(numbers)
            return str(number), frozenset({number})
        case "a,b":
            chosen = draw(st.lists(numbers, min_size=2, max_size=4))
            return ",".join(map(str, chosen)), frozenset(chosen)
        case shape:
            first, last = sorted((draw(numbers), draw(numbers)))
            step = draw(steps) if shape.endswith("n") else 1
            text = f"{first}-{last}" if step == 1 else f"{first}-{last}/{step}"
            # A step behind a range of one number counts to the end of the field, as it does behind that number alone.
            if first == last and step > 1:
                return text, frozenset(range(first, high + 1, step))
            return text, frozenset(range(first, last + 1, step))


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    """Expressions that fire within days: any minute and hour, some days, every month."""
    minute, minutes = draw(fields(0, 59))
    hour, hours = draw(st.one_of(fields(0, 23), fields(0, 23, early=True)))
    day, days = draw(st.one_of(st.just(("*", frozenset(range(1, 32)))), fields(1, 31)))
    weekday, weekdays = draw(st.one_of(st.just(("*", frozenset(range(7)))), fields(0, 6)))
    return Expression(f"{minute} {hour} {day} * {weekday}", minutes, hours, days, weekdays)
