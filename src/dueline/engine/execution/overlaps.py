"""Runs that found another run of their job under way, and must not run beside it."""

from __future__ import annotations

from dueline.domain.ids import RunId
from dueline.domain.overlap import OverlapVerdict, decide
from dueline.domain.states import EndReason
from dueline.engine.definitions import Definitions
from dueline.store.protocol import RunStore
from dueline.store.shapes import Blocked


async def settle_overlaps(store: RunStore, definitions: Definitions, blocked: list[Blocked]) -> list[Blocked]:
    """Have each of them do what its policy says: wait, take the other's place, or end.

    Answers those that nothing is known to have become of: as a rule the other run has ended meanwhile, and they may start after all.
    """
    if not blocked:
        return []
    versions = await definitions.load({(run.job_id, run.version) for run in blocked})
    hold, skip, displace = [], [], []
    held_now: dict[bytes, int] = {}
    for run in blocked:
        policy = run.overlap or versions[run.job_id, run.version].definition.overlap
        held = run.held + held_now.get(run.job_id, 0)
        match decide(policy, occupied=True, held=held):
            case OverlapVerdict.HOLD:
                held_now[run.job_id] = held_now.get(run.job_id, 0) + 1
                hold.append(run)
            case OverlapVerdict.DISPLACE:
                displace.append(run)
            case _:
                skip.append(run)
    settled: set[RunId] = set()
    if hold:
        settled |= await store.hold_blocked(hold)
    if displace:
        settled |= await store.displace_blocked(displace, reason=EndReason.SUPERSEDED)
    if skip:
        settled |= await store.skip_blocked(skip, reason=EndReason.OVERLAP)
    return [run for run in blocked if run.run_id not in settled]
