"""What happens to a run that would start while another run of its job has not ended."""

import pytest

from dueline.domain.overlap import Overlap, OverlapVerdict, decide

START, HOLD, SKIP = OverlapVerdict.START, OverlapVerdict.HOLD, OverlapVerdict.SKIP
DISPLACE = OverlapVerdict.DISPLACE

WHILE_OCCUPIED = [
    (Overlap.SKIP, 0, SKIP),
    (Overlap.SKIP, 1, SKIP),
    (Overlap.QUEUE_ONE, 0, HOLD),
    (Overlap.QUEUE_ONE, 1, SKIP),
    (Overlap.QUEUE_ONE, 2, SKIP),
    (Overlap.QUEUE_ALL, 0, HOLD),
    (Overlap.QUEUE_ALL, 1_000, HOLD),
    (Overlap.CANCEL_PREVIOUS, 0, DISPLACE),
    (Overlap.CANCEL_PREVIOUS, 1, DISPLACE),
    (Overlap.CANCEL_PREVIOUS, 1_000, DISPLACE),
    (Overlap.ALLOW, 0, START),
    (Overlap.ALLOW, 1_000, START),
]


@pytest.mark.parametrize(("policy", "held", "verdict"), WHILE_OCCUPIED)
def test_while_another_run_is_under_way(policy: Overlap, held: int, verdict: OverlapVerdict) -> None:
    assert decide(policy, occupied=True, held=held) is verdict


@pytest.mark.parametrize("policy", Overlap)
@pytest.mark.parametrize("held", [0, 1, 1_000])
def test_with_nothing_under_way_a_run_starts(policy: Overlap, held: int) -> None:
    assert decide(policy, occupied=False, held=held) is START


def test_every_policy_is_in_the_table() -> None:
    assert {policy for policy, _, _ in WHILE_OCCUPIED} == set(Overlap)
