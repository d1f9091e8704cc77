"""Randomness from the machine."""

from dueline.domain.ids import ENTROPY_BYTES
from dueline.runtime.chance import SystemChance


def test_entropy_is_as_long_as_an_id_needs_it_and_never_the_same() -> None:
    drawn = [SystemChance().entropy() for _ in range(100)]
    assert {len(entropy) for entropy in drawn} == {ENTROPY_BYTES}
    assert len(set(drawn)) == 100
    assert len(SystemChance().entropy(7)) == 7 * ENTROPY_BYTES


def test_fractions_lie_below_one() -> None:
    drawn = [SystemChance().fraction() for _ in range(1_000)]
    assert all(0 <= fraction < 1 for fraction in drawn)
    assert len(set(drawn)) > 900
