"""The model of gates: how many may be under way at once, and who waits for room."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain.states import RunState
from tests.model.ends import free_next
from tests.model.runs import let_go
from tests.model.world import World


def taken(world: World, gate: bytes) -> int:
    return sum(1 for place in world.gate_places if place[0] == gate)


def enter(world: World, claims: Sequence[tuple[bytes, int]], gates: Sequence[bytes]) -> dict[bytes, int]:
    """All of its gates or none, whoever is given first first. A run that does not pass waits at the first that has no room, or goes back if
    that is its queue's."""
    passed = {}
    for run_id, token in claims:
        run = world.held(run_id, token)
        if run is None:
            continue
        full = [gate for gate in gates if taken(world, gate) >= world.gates[gate]]
        if not full:
            world.gate_places |= {(gate, run_id) for gate in gates}
            passed[run_id] = world.now_ms
        elif full[0] in world.queue_gates:
            let_go(world, run)
            run.state = RunState.READY
        else:
            run.state, run.reason, run.waits_for = RunState.HELD, "concurrency", full[0]
            run.token, run.attempt = run.token + 1, run.attempt - 1
            run.worker = run.claimed_ms = None
    return passed


def sweep(world: World) -> None:
    """Places are worth what their runs are, and nobody waits though there is room."""
    running = {run.id for run in world.runs.values() if run.state is RunState.RUNNING}
    world.gate_places = {place for place in world.gate_places if place[1] in running}
    for gate, most in world.gates.items():
        free_next(world, gate, max(most - taken(world, gate), 0))
