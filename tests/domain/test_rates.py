"""How often something happens lately."""

import pytest

from dueline.domain.rates import Rates


def test_what_goes_on_steadily_is_told_as_it_is() -> None:
    rates = Rates()
    for tenth in range(1_000):
        rates.add("mail", 5, now_s=tenth / 10)
    assert rates.read(now_s=100.0)["mail"] == pytest.approx(50, rel=0.02)


def test_what_has_stopped_fades_and_is_forgotten() -> None:
    rates = Rates()
    rates.add("mail", 100, now_s=0.0)
    rates.add("other", 1, now_s=0.0)
    assert rates.read(now_s=0.0) == {"mail": 10.0, "other": 0.1}
    assert rates.read(now_s=10.0) == {"mail": 3.68, "other": 0.04}
    assert rates.read(now_s=40.0) == {"mail": 0.18}
    assert rates.read(now_s=1_000.0) == {}


def test_nothing_has_no_rate() -> None:
    assert Rates().read(now_s=5.0) == {}
