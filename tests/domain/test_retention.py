"""How long finished runs are kept."""

from dueline.domain.durations import DAY_MS
from dueline.domain.retention import Sweep, sweep_of_all, sweeps_of_tenants

NOW_MS = 1_767_225_600_000


def ago(days: int) -> int:
    return NOW_MS - days * DAY_MS


def test_everything_is_kept_for_so_many_days() -> None:
    assert sweep_of_all(keep_days=90, now_ms=NOW_MS) == Sweep((), 0, ago(90))


def test_a_tenant_can_only_keep_less() -> None:
    days = {"less": 89, "same": 90, "more": 91}
    assert sweeps_of_tenants(days, {}, keep_days=90, now_ms=NOW_MS) == [Sweep(("less",), ago(90), ago(89))]


def test_tenants_that_keep_as_long_are_swept_together() -> None:
    days = {"b": 30, "a": 30, "c": 7}
    assert sweeps_of_tenants(days, {}, keep_days=90, now_ms=NOW_MS) == [
        Sweep(("a", "b"), ago(90), ago(30)),
        Sweep(("c",), ago(90), ago(7)),
    ]


def test_what_was_swept_before_is_not_looked_at_again() -> None:
    swept = {"behind": ago(40), "there": ago(30), "ahead": ago(10), "": ago(1)}
    days = {"behind": 30, "there": 30, "ahead": 30, "new": 30}
    assert sweeps_of_tenants(days, swept, keep_days=90, now_ms=NOW_MS) == [
        Sweep(("behind",), ago(40), ago(30)),
        Sweep(("new",), ago(90), ago(30)),
    ]
