"""What jobs and runs say of their limits: rates, and keys with places for what is in the payload."""

import pytest

from dueline.domain import limits
from dueline.domain.gates import Rate
from dueline.domain.keys import fill_key, key_problems


@pytest.mark.parametrize(
    ("count", "period_ms", "interval_us"),
    [(1, 1_000, 1_000_000), (3, 1_000, 333_334), (700_000, 1_000, 2), (1_000_000, 1_000, 1)],
)
def test_a_rate_lets_no_more_through_than_it_says(count: int, period_ms: int, interval_us: int) -> None:
    rate = Rate(count, period_ms)
    assert rate.interval_us == interval_us
    assert count * rate.interval_us >= period_ms * 1_000


def problems(key: str, payload: object, *, has_job: bool = True) -> list[str]:
    return list(key_problems(key, payload=payload, of="body", has_job=has_job))


def test_a_key_is_as_long_as_keys_may_be() -> None:
    most = limits.KEY_LETTERS_MAX
    assert problems("k" * most, None) == []
    assert problems("k" * (most + 1), None) == ["must have 1 to 255 letters"]
    assert problems("", None) == ["must have 1 to 255 letters"]
    assert problems("{{body.a}}", {"a": "k" * most}) == []
    assert problems("{{body.a}}", {"a": "k" * (most + 1)}) == ["must not be longer than 255 letters with its values"]


def test_a_place_in_a_list_that_no_list_has_is_told_and_breaks_nothing() -> None:
    assert "is nothing that the run has" in problems("{{body.a." + "1" * 200 + "}}", {"a": [1]})[0]
    assert problems("{{body.a." + "1" * 5_000 + "}}", {"a": [1]}) == ["must have 1 to 255 letters"]


def test_a_key_is_filled_with_values_of_any_plain_kind() -> None:
    payload = {"a": "x", "b": 1, "c": True, "d": [{"e": 1.5}]}
    key = "{{tenant}}/{{ body.a }}/{{body.b}}/{{body.c}}/{{body.d.0.e}}/{{body.gone}}"
    assert fill_key(key, payload=payload, of="body", names={"tenant": "t"}) == "t/x/1/true/1.5/"
