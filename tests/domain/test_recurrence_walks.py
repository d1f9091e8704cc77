"""Recurrence rules against slow and obvious accounts of them."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dueline.domain.localtime import DstGap, DstOverlap
from dueline.domain.recurrence.times import RuleTimes
from tests.domain.cron_oracle import NIGHTS, night_s
from tests.domain.recurrence_oracle import (
    Elapsed,
    calendar_rules,
    elapsed_rules,
    fine_rules,
    fires,
    instants,
    minutes_around,
    walls,
)
from tests.domain.rule_times import between, rule_of

ZONES = ["UTC", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo"]
NEAR_NIGHTS = [night for night in NIGHTS if night_s(night[1]) > 0]
"""Schedules begin in 1970."""
POLICIES = st.tuples(st.sampled_from(DstGap), st.sampled_from(DstOverlap))
STARTS = st.datetimes(datetime(1997, 1, 1), datetime(2027, 12, 31)).map(lambda moment: moment.replace(microsecond=0))
DAY_S = 86_400


def dtstart(start: datetime, zone: str) -> str:
    return f"DTSTART;TZID={zone}:{start:%Y%m%dT%H%M%S}"


@settings(max_examples=120)
@given(rule=calendar_rules(), start=STARTS, zone=st.sampled_from(ZONES), policies=POLICIES, data=st.data())
def test_a_rule_fires_as_dateutil_says_on_the_wall_clock(
    rule: str, start: datetime, zone: str, policies: tuple[DstGap, DstOverlap], data: st.DataObject
) -> None:
    first = instants(start, zone, DstGap.SKIP, policies[1])
    assume(first)
    times = RuleTimes(rule_of(f"{dtstart(start, zone)}\nRRULE:{rule}", None, gap=policies[0], overlap=policies[1]))
    # Where nothing comes for centuries the oracle takes minutes to say so.
    following = times.next_after(0)
    assume(following is not None and following < (first[0] + 40 * 366 * DAY_S) * 1000)
    years = 12 if rule.startswith("FREQ=YEARLY") else 2
    until = start + timedelta(days=years * 365)
    expected = fires(rule, start, until, zone, *policies)
    since_s = data.draw(st.integers(first[0] - DAY_S, first[0] + years * 365 * DAY_S))
    last_s = min(since_s + 60 * DAY_S if years == 2 else since_s + 3_000 * DAY_S, first[0] + (years * 365 - 3) * DAY_S)
    assert between(times, since_s * 1000, last_s * 1000) == [
        at_s * 1000 for at_s in expected if since_s < at_s <= last_s
    ]


@settings(max_examples=60)
@given(rule=calendar_rules(), start=STARTS, zone=st.sampled_from(ZONES), count=st.integers(1, 60), policies=POLICIES)
def test_count_ends_a_rule_where_dateutil_does(
    rule: str, start: datetime, zone: str, count: int, policies: tuple[DstGap, DstOverlap]
) -> None:
    assume(instants(start, zone, DstGap.SKIP, policies[1]))
    lines = f"{dtstart(start, zone)}\nRRULE:{rule}"
    endless = RuleTimes(rule_of(lines, None, gap=policies[0], overlap=policies[1]))
    following = endless.next_after(0)
    assume(following is not None and following < 80 * 366 * DAY_S * 1000)
    named = list(islice(rrulestr(rule, dtstart=start), count))
    found = {at_s for wall in named for at_s in instants(wall, zone, *policies)}
    first_s = instants(start, zone, DstGap.SKIP, policies[1])[0]
    times = RuleTimes(rule_of(f"{lines};COUNT={count}", None, gap=policies[0], overlap=policies[1]))
    assert between(times, 0, 2**62) == [at_s * 1000 for at_s in sorted(found) if at_s >= first_s]


@settings(max_examples=60)
@given(rule=elapsed_rules(), night=st.sampled_from(NEAR_NIGHTS), before=st.integers(0, 3_000), policies=POLICIES)
def test_a_rule_by_hours_or_minutes_follows_real_time_through_any_night(
    rule: Elapsed, night: tuple[str, str], before: int, policies: tuple[DstGap, DstOverlap]
) -> None:
    zone, moment = night
    start_s = night_s(moment) - before * 60
    start = datetime.fromtimestamp(start_s, UTC).isoformat()
    times = RuleTimes(rule_of(rule.text, zone, start, *policies))
    walk = minutes_around(night_s(moment), 2)
    expected = [at_s * 1000 for at_s in walk if at_s >= start_s and rule.fires(start_s, at_s, zone)]
    assert between(times, (walk[0] - 1) * 1000, walk[-1] * 1000) == expected


@settings(max_examples=60)
@given(rule=fine_rules(), start=STARTS, data=st.data())
def test_where_clocks_do_not_change_a_rule_by_hours_or_finer_fires_as_dateutil_says(
    rule: str, start: datetime, data: st.DataObject
) -> None:
    until = start + (timedelta(hours=3) if "SECONDLY" in rule else timedelta(days=4))
    times = RuleTimes(rule_of(f"DTSTART:{start:%Y%m%dT%H%M%SZ}\nRRULE:{rule}"))
    start_s, until_s = (int(moment.replace(tzinfo=UTC).timestamp()) for moment in (start, until))
    # Where nothing comes for long the oracle takes minutes to say so.
    assume(0 < (times.next_after(0) or 0) <= until_s * 1000)
    expected = [int(wall.replace(tzinfo=UTC).timestamp()) for wall in walls(rule, start, until)]
    since_s = data.draw(st.integers(start_s - 1, until_s))
    found = between(times, since_s * 1000, until_s * 1000)
    assert found == [at_s * 1000 for at_s in expected if at_s > since_s]


@settings(max_examples=60)
@given(rule=calendar_rules(), night=st.sampled_from(NEAR_NIGHTS), policies=POLICIES, data=st.data())
def test_time_moves_on_and_an_answer_does_not_depend_on_where_between_two_one_asks(
    rule: str, night: tuple[str, str], policies: tuple[DstGap, DstOverlap], data: st.DataObject
) -> None:
    zone, moment = night
    start_s = night_s(moment) - data.draw(st.integers(0, 3 * DAY_S))
    start = datetime.fromtimestamp(start_s, UTC).isoformat()
    schedule = rule_of(rule, zone, start, *policies)
    at_ms = (night_s(moment) - DAY_S) * 1000
    found = [at_ms]
    times = RuleTimes(schedule)
    while len(found) < 12 and (following := times.next_after(found[-1])) is not None:
        found.append(following)
    assert all(before < after for before, after in pairwise(found))
    for before, after in pairwise(found):
        asked_ms = data.draw(st.integers(before, after - 1))
        assert RuleTimes(schedule).next_after(asked_ms) == after
