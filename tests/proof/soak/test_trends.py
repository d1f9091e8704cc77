"""Slopes of series made by hand, and what may grow."""

from __future__ import annotations

import math
import random

import pytest

from proof.soak.records import Sample
from proof.soak.trends import MB, Series, series_of, theil_sen, trends, with_rows

MINUTES = 30
LASTED_S = MINUTES * 60.0


def series(per_hour: float, *, level: float = 100 * MB, noise: float = 0.0, until: int = MINUTES * 6) -> Series:
    """A point every ten seconds."""
    chance = random.Random(1)
    return [(step * 10.0, level + per_hour * step / 360 + chance.uniform(-noise, noise)) for step in range(until)]


def test_the_slope_is_that_of_most_pairs() -> None:
    assert theil_sen(series(36.0)) == pytest.approx(0.01)
    assert theil_sen([]) == 0
    with_spikes = [(at_s, value * (50 if number % 5 == 0 else 1)) for number, (at_s, value) in enumerate(series(36.0))]
    assert abs(theil_sen(with_spikes)) < 0.02


def growing(name: str, points: Series) -> bool:
    (found,) = trends({name: points}, lasted_s=LASTED_S)
    return found.grows


def test_what_grows_is_found_through_the_noise() -> None:
    assert not growing("memory worker-1", series(0.0, noise=3 * MB))
    assert not growing("memory worker-1", series(8 * MB, noise=1 * MB))
    assert growing("memory worker-1", series(15 * MB, noise=1 * MB))
    assert growing("memory worker-1", series(30 * MB, noise=3 * MB))
    assert growing("descriptors worker-1", series(20.0, level=50.0, noise=5))
    assert not growing("descriptors worker-1", series(0.0, level=50.0, noise=5))
    assert growing("index runs_ready", series(8 * MB, level=4 * MB))


def test_what_shrinks_and_what_is_not_judged_does_not_grow() -> None:
    assert not growing("memory worker-1", series(-50 * MB))
    assert not growing("dead runs", series(50 * MB))


def test_the_beginning_does_not_count() -> None:
    """A cache that fills is no leak; one that fills nearly all the time is told to be one."""
    for fills_s in (300, 1_000):
        filling = [(at_s, min(at_s / fills_s, 1.0) * 100 * MB) for at_s, _ in series(0.0)]
        assert not growing("memory worker-1", filling)
    assert growing("memory worker-1", [(at_s, min(at_s / 1_700, 1.0) * 100 * MB) for at_s, _ in series(0.0)])


def test_what_finds_another_level_does_not_grow() -> None:
    assert not growing("table runs", [(at_s, value + 50 * MB * (at_s > 1_200)) for at_s, value in series(0.0)])
    assert growing("table runs", [(at_s, value + 50 * MB * (at_s > 1_200)) for at_s, value in series(8 * MB)])


def test_a_peak_that_is_higher_than_all_before_is_kept_and_is_no_leak() -> None:
    """The first accidents bring most of it; what leaks beside them grows in the minutes without any as well."""
    steps = [(at_s, 190 * MB + 5 * MB * math.log1p(at_s // 180)) for at_s, _ in series(0.0)]
    assert not growing("memory worker-1", steps)
    assert growing("memory worker-1", [(at_s, value + 20 * MB * at_s / 3_600) for at_s, value in steps])


def test_a_process_that_did_not_live_for_long_is_told_and_not_judged() -> None:
    (short,) = trends({"memory worker-7": series(100 * MB, until=60)}, lasted_s=LASTED_S)
    assert short.allowed is None
    assert short.per_hour == pytest.approx(100 * MB)
    assert trends({"memory worker-8": series(0.0, until=5)}, lasted_s=LASTED_S) == []


def test_a_soak_of_a_few_minutes_tells_nothing_of_what_grows() -> None:
    (short,) = trends({"memory worker-1": series(100 * MB, until=30)}, lasted_s=300.0)
    assert short.allowed is None


def test_what_is_kept_on_purpose_counts_for_each_that_is_kept() -> None:
    """Three hundred bytes for each of a thousand runs a second, of which some wait; the partition of a day, another, and its index."""
    samples = [
        Sample(
            at_s,
            {
                "overdue runs": 500.0,
                "table history_20260101": (at_s * 1000 - 500) * 200,
                "index history_20260101_pkey": (at_s * 1000 - 500) * 100,
                "table history_sweeps": 8192.0,
                "table runs": 5 * MB,
            },
        )
        for at_s, _ in series(0.0)[1:]
    ]
    found = series_of(with_rows(samples, rate=1_000, began_s=0.0))
    assert {name for name in found if "history" in name} == {"kept history", "table history_sweeps"}
    assert all(math.isclose(value, 300) for _, value in found["kept history"])
    assert [trend.name for trend in trends(found, lasted_s=LASTED_S) if trend.grows] == []


def test_what_listeners_are_told_of_a_run_is_kept_for_an_hour_and_counts_for_each_run() -> None:
    samples = [
        Sample(at_s, {"overdue runs": 0.0, "table changes": at_s * 1000 * 16, "index changes_pkey": at_s * 200.0})
        for at_s, _ in series(0.0)[1:]
    ]
    found = series_of(with_rows(samples, rate=1_000, began_s=0.0))
    assert all(math.isclose(value, 16.2) for _, value in found["kept changes"])
    assert [trend.name for trend in trends(found, lasted_s=LASTED_S) if trend.grows] == []


def test_kept_runs_that_weigh_more_and_more_are_found() -> None:
    samples = [
        Sample(at_s, {"overdue runs": 0.0, "table history_20260101": at_s * 1000 * (300 + at_s / 30)})
        for at_s, _ in series(0.0)[1:]
    ]
    found = series_of(with_rows(samples, rate=1_000, began_s=0.0))
    assert [trend.name for trend in trends(found, lasted_s=LASTED_S) if trend.grows] == ["kept history"]


def test_while_the_database_is_away_a_sample_tells_nothing_of_it() -> None:
    samples = [Sample(10.0, {"memory worker-1": 1.0})]
    assert with_rows(samples, rate=1_000, began_s=0.0) == samples
