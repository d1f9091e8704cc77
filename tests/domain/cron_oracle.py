"""A slow, obvious account of when a cron expression fires: walk every minute of UTC and look at the wall clock of the zone."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from dueline.domain.localtime import DstGap, DstOverlap

# Nights on which the clocks of a zone change, in UTC: by one hour, by half of one, by two, by a whole day; at midnight.
CHANGES = [
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("America/St_Johns", "2006-04-02T03:31"),
    ("America/St_Johns", "2006-10-29T02:31"),
    ("Europe/London", "2026-03-29T01:00"),
    ("Europe/London", "2026-10-25T01:00"),
    ("Europe/Berlin", "2026-03-29T01:00"),
    ("Europe/Berlin", "2026-10-25T01:00"),
    ("America/Sao_Paulo", "2018-11-04T03:00"),
    ("America/Sao_Paulo", "2018-02-18T02:00"),
    ("America/Santiago", "2026-09-06T04:00"),
    ("America/Santiago", "2026-04-05T03:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
    ("Pacific/Apia", "2011-12-30T10:00"),
    ("Pacific/Kwajalein", "1969-09-30T13:00"),
    ("Antarctica/Troll", "2026-03-29T01:00"),
    ("Antarctica/Troll", "2026-10-25T01:00"),
    ("Africa/Casablanca", "2026-02-15T02:00"),
    ("Africa/Casablanca", "2026-03-22T02:00"),
    ("Africa/Cairo", "2026-04-23T22:00"),
    ("Africa/Cairo", "2026-10-29T21:00"),
    ("Pacific/Chatham", "2026-09-26T14:00"),
    ("Pacific/Chatham", "2026-04-04T14:00"),
]
NIGHTS = [*CHANGES, ("Asia/Kathmandu", "2026-06-01T00:00"), ("UTC", "2026-02-28T23:00")]


@dataclass(frozen=True, repr=False)
class Expression:
    """An expression, and the seconds, minutes, hours, days of the month and days of the week that it means."""

    text: str
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    weekdays: frozenset[int]

    def __repr__(self) -> str:
        return repr(self.text)

    @property
    def interval_like(self) -> bool:
        """Such patterns follow real time; the others are times of day."""
        hour = self.text.split()[-4]
        return hour.startswith("*") or ("/" in hour and "-" not in hour)

    def matches(self, wall: datetime) -> bool:
        if wall.second not in self.seconds or wall.minute not in self.minutes or wall.hour not in self.hours:
            return False
        day, _, weekday = self.text.split()[-3:]
        on_day, on_weekday = wall.day in self.days, (wall.weekday() + 1) % 7 in self.weekdays
        both = day.startswith("*") or weekday.startswith("*")
        return (on_day and on_weekday) if both else (on_day or on_weekday)


def night_s(moment: str) -> int:
    return int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())


@dataclass(frozen=True)
class Walk:
    """Every tick of UTC around a night: which wall times it shows, and where each wall time is shown."""

    shown: list[tuple[int, datetime]]
    at: dict[datetime, list[int]]
    walls: list[datetime]


@cache
def walk(zone: str, moment: str, *, reach_s: int, tick_s: int) -> Walk:
    middle_s = night_s(moment)
    ticks = range(middle_s - reach_s, middle_s + reach_s, tick_s)
    shown = [(at_s, datetime.fromtimestamp(at_s, ZoneInfo(zone)).replace(tzinfo=None)) for at_s in ticks]
    at = defaultdict(list)
    for at_s, wall in shown:
        at[wall].append(at_s)
    first, last = min(at), max(at)
    walls = [first + timedelta(seconds=s) for s in range(0, int((last - first).total_seconds()) + 1, tick_s)]
    return Walk(shown, dict(at), walls)


def fires_around(expression: Expression, walked: Walk, gap: DstGap, overlap: DstOverlap) -> list[int]:
    """The seconds at which the expression fires during a walk."""
    if expression.interval_like:
        return [at_s for at_s, wall in walked.shown if expression.matches(wall)]
    fires: set[int] = set()
    for wall in walked.walls:
        if expression.matches(wall):
            fires.update(_instants(wall, walked, gap, overlap))
    return sorted(at_s for at_s in fires if at_s >= walked.shown[0][0])


def _instants(wall: datetime, walked: Walk, gap: DstGap, overlap: DstOverlap) -> list[int]:
    """When a time of day comes: where it is shown, and else where the policies put it."""
    shown = walked.at.get(wall, [])
    if shown:
        return {DstOverlap.FIRST: shown[:1], DstOverlap.SECOND: shown[-1:], DstOverlap.BOTH: shown}[overlap]
    reached_s, reached = next((at_s, later) for at_s, later in walked.shown if later > wall)
    if gap is DstGap.SKIP:
        return []
    if gap is DstGap.RUN_AFTER:
        return [reached_s]
    return [reached_s - int((reached - wall).total_seconds())]


@st.composite
def fields(draw: st.DrawFn, low: int, high: int, *, early: bool = False) -> tuple[str, frozenset[int]]:
    """One field, as text and as what it means; `early` names small numbers only, such as the hours in which clocks change."""
    everything = range(low, high + 1)
    numbers = st.integers(low, low + 3 if early else high)
    steps = st.integers(1, high)
    match draw(st.sampled_from(["*", "*/n", "a", "a/n", "a,b", "a-b", "a-b/n"])):
        case "*":
            return "*", frozenset(everything)
        case "*/n":
            step = draw(steps)
            return f"*/{step}", frozenset(everything[::step])
        case "a":
            number = draw(numbers)
            return str(number), frozenset({number})
        case "a/n":
            number, step = draw(numbers), draw(steps)
            return f"{number}/{step}", frozenset(range(number, high + 1, step))
        case "a,b":
            chosen = draw(st.lists(numbers, min_size=2, max_size=4))
            return ",".join(map(str, chosen)), frozenset(chosen)
        case shape:
            first, last = sorted((draw(numbers), draw(numbers)))
            step = draw(steps) if shape.endswith("n") else 1
            text = f"{first}-{last}" if step == 1 else f"{first}-{last}/{step}"
            return text, frozenset(range(first, last + 1, step))


@st.composite
def expressions(draw: st.DrawFn, *, with_seconds: bool = False) -> Expression:
    """Expressions that fire within days: any minute and hour, some days, every month. Half of them name hours in which clocks change."""
    second, seconds = draw(fields(0, 59)) if with_seconds else ("", frozenset({0}))
    minute, minutes = draw(fields(0, 59))
    hour, hours = draw(st.one_of(fields(0, 23), fields(0, 23, early=True), fields(0, 23, early=True)))
    day, days = draw(st.one_of(st.just(("*", frozenset(range(1, 32)))), fields(1, 31)))
    weekday, weekdays = draw(st.one_of(st.just(("*", frozenset(range(7)))), fields(0, 6)))
    return Expression(f"{second} {minute} {hour} {day} * {weekday}".strip(), seconds, minutes, hours, days, weekdays)


# Days, by a walk over every date.

DayRule = Callable[[date], bool]
_DAY = timedelta(days=1)


def weekday_number(day: date) -> int:
    return (day.weekday() + 1) % 7


def days_in_month_of(day: date) -> list[date]:
    first = day.replace(day=1)
    return [moved for n in range(31) if (moved := first + n * _DAY).month == day.month]


def dates() -> st.SearchStrategy[tuple[str, DayRule]]:
    """Terms of the day-of-month field, each with what it means."""
    numbers = st.integers(1, 31)

    def near(n: int) -> DayRule:
        def rule(day: date) -> bool:
            month = days_in_month_of(day)
            weekdays = [one for one in month if one.weekday() < 5]
            return n <= len(month) and day == min(weekdays, key=lambda one: abs(one.day - n))

        return rule

    def last_weekday(day: date) -> bool:
        return day == [one for one in days_in_month_of(day) if one.weekday() < 5][-1]

    return st.one_of(
        numbers.map(lambda n: (str(n), lambda day: day.day == n)),
        st.integers(0, 30).map(lambda n: (f"L-{n}", lambda day: len(days_in_month_of(day)) - day.day == n)),
        st.just(("l", lambda day: (day + _DAY).month != day.month)),
        st.just(("LW", last_weekday)),
        numbers.map(lambda n: (f"{n}W", near(n))),
        st.tuples(numbers, numbers).map(sorted).map(lambda r: (f"{r[0]}-{r[1]}", lambda day: r[0] <= day.day <= r[1])),
    )


def weekdays() -> st.SearchStrategy[tuple[str, DayRule]]:
    """Terms of the day-of-week field, each with what it means."""
    names = st.sampled_from([("sun", 0), ("Mon", 1), ("TUE", 2), ("WED", 3), ("4", 4), ("5", 5), ("sAt", 6), ("7", 0)])

    def wrapped(first: tuple[str, int], last: tuple[str, int]) -> tuple[str, DayRule]:
        meant, number = {first[1]}, first[1]
        # A week that ends with Sunday as 7 goes all the way from Sunday as 0.
        if last[0] == "7" and first[1] == 0 and first[0] != "7":
            meant = set(range(7))
        while number != last[1]:
            number = (number + 1) % 7
            meant.add(number)
        return f"{first[0]}-{last[0]}", lambda day: weekday_number(day) in meant

    return st.one_of(
        names.map(lambda name: (name[0], lambda day: weekday_number(day) == name[1])),
        names.map(lambda name: (f"{name[0]}L", lambda day: weekday_number(day) == name[1] and (day + 7 * _DAY).month != day.month)),
        st.tuples(names, st.integers(1, 5)).map(
            lambda t: (f"{t[0][0]}#{t[1]}", lambda day: weekday_number(day) == t[0][1] and (day.day + 6) // 7 == t[1])
        ),
        st.tuples(names, names).map(lambda pair: wrapped(*pair)),
    )  # fmt: skip


def days_between(since: date, until: date) -> Iterator[date]:
    return (since + n * _DAY for n in range((until - since).days))
