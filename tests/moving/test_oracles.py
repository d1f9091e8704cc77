"""The oracles themselves, held against what the documentation of their schedulers says in words."""

from datetime import UTC, datetime

import pytest

from dueline.domain.instants import parse_instant
from dueline.moving.oracles.apscheduler import ApschedulerOracle
from dueline.moving.oracles.celery import CeleryOracle
from dueline.moving.oracles.eventbridge import EventBridgeOracle
from dueline.moving.oracles.kubernetes import KubernetesOracle
from dueline.moving.oracles.plain import FirstOracle, OnceOracle, RateOracle
from dueline.moving.oracles.vixie import VixieOracle
from dueline.moving.oracles.walls import Oracle

BERLIN = "Europe/Berlin"
SPRING = ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")
AUTUMN = ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z")


def fires(oracle: Oracle, since: str, until: str) -> list[str]:
    bounds = (parse_instant(text, field="") // 1000 for text in (since, until))
    return [f"{datetime.fromtimestamp(at_s, UTC):%m-%d %H:%M:%S}" for at_s in oracle.fires(*bounds)]


@pytest.mark.parametrize(
    ("oracle", "spring", "autumn"),
    [
        (VixieOracle("30 2 * * *", BERLIN), ["01:00"], ["00:30"]),
        (VixieOracle("*/30 2 * * *", BERLIN), [], ["00:00", "00:30", "01:00", "01:30"]),
        (KubernetesOracle("30 2 * * *", BERLIN), [], ["00:30", "01:30"]),
        (EventBridgeOracle("30 2 * * ? *", BERLIN), [], ["00:30"]),
        (CeleryOracle("30", "2", "*", "*", "*", BERLIN), ["01:00"], ["00:30"]),
        (ApschedulerOracle({"hour": "2", "minute": "30"}, BERLIN), [], ["00:30", "01:30"]),
    ],
)
def test_the_nights_on_which_clocks_change(oracle: Oracle, spring: list[str], autumn: list[str]) -> None:
    assert [text[6:11] for text in fires(oracle, *SPRING)] == spring
    assert [text[6:11] for text in fires(oracle, *AUTUMN)] == autumn


YEAR = ("2026-01-01T00:00:00Z", "2026-12-31T23:59:59Z")


@pytest.mark.parametrize(
    ("oracle", "days"),
    [
        (VixieOracle("0 0 13 2 fri", "UTC"), ["02-06", "02-13", "02-20", "02-27"]),
        (VixieOracle("0 0 */15 2 1", "UTC"), ["02-16"]),
        (VixieOracle("@yearly", "UTC"), []),
        (KubernetesOracle("0 0 */15 2 1", "UTC"), ["02-01", "02-02", "02-09", "02-16", "02-23"]),
        (KubernetesOracle("0 0 ? 2 MON", "UTC"), ["02-02", "02-09", "02-16", "02-23"]),
        (CeleryOracle("0", "0", "fri", "13", "*", "UTC"), ["02-13", "03-13", "11-13"]),
        (ApschedulerOracle({"month": "6", "day": "3rd fri,last"}, "UTC"), ["06-19", "06-30"]),
        (
            ApschedulerOracle({"day_of_week": "0", "month": "2", "hour": "0"}, "UTC"),
            ["02-02", "02-09", "02-16", "02-23"],
        ),
        (EventBridgeOracle("0 0 ? 2 1 *", "UTC"), ["02-01", "02-08", "02-15", "02-22"]),
        (EventBridgeOracle("0 0 ? 1-3 6L 2026", "UTC"), ["01-30", "02-27", "03-27"]),
        (EventBridgeOracle("0 0 1W 8-11 ? *", "UTC"), ["08-03", "09-01", "10-01", "11-02"]),
        (EventBridgeOracle("0 0 ? * 2#5 *", "UTC"), ["03-30", "06-29", "08-31", "11-30"]),
    ],
)
def test_days(oracle: Oracle, days: list[str]) -> None:
    assert [text[:5] for text in fires(oracle, *YEAR)] == days


def test_seconds() -> None:
    oracle = ApschedulerOracle({"second": "*/20"}, "UTC")
    found = fires(oracle, "2026-01-01T00:00:20Z", "2026-01-01T00:01:20Z")
    assert found == ["01-01 00:00:40", "01-01 00:01:00", "01-01 00:01:20"]


def test_plain_ones() -> None:
    since, until = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
    start_s = parse_instant("2025-12-31T23:50:00Z", field="") // 1000
    assert fires(RateOracle(1_800), since, until) == ["01-01 00:30:00", "01-01 01:00:00"]
    assert fires(RateOracle(1_800, start_s), since, until) == ["01-01 00:20:00", "01-01 00:50:00"]
    assert fires(RateOracle(1_800, start_s, start_s + 1_800), since, until) == ["01-01 00:20:00"]
    assert fires(FirstOracle(RateOracle(1_800), 1), since, until) == ["01-01 00:30:00"]
    assert fires(OnceOracle(start_s), since, until) == []
