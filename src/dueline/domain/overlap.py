"""What happens to a run that would start while another run of its job has not ended."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never


class Overlap(StrEnum):
    SKIP = "skip"
    QUEUE_ONE = "queue_one"
    QUEUE_ALL = "queue_all"
    CANCEL_PREVIOUS = "cancel_previous"
    ALLOW = "allow"


class OverlapVerdict(StrEnum):
    START = "start"
    HOLD = "hold"
    DISPLACE = "displace"
    SKIP = "skip"


def decide(policy: Overlap, *, occupied: bool, held: int) -> OverlapVerdict:
    """The verdict for a run about to start: `occupied` when another run of the job is under way, `held` runs wait already."""
    if not occupied:
        return OverlapVerdict.START
    match policy:
        case Overlap.ALLOW:
            return OverlapVerdict.START
        case Overlap.SKIP:
            return OverlapVerdict.SKIP
        case Overlap.QUEUE_ONE:
            return OverlapVerdict.SKIP if held else OverlapVerdict.HOLD
        case Overlap.QUEUE_ALL:
            return OverlapVerdict.HOLD
        case Overlap.CANCEL_PREVIOUS:
            return OverlapVerdict.DISPLACE
        case _:
            assert_never(policy)
