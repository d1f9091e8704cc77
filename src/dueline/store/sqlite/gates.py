"""Gates on SQLite: who may start, who waits, and who is next when somebody leaves. The writer is alone: whoever looks has locked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

from dueline.domain import limits
from dueline.domain.gates import Gate, GateId, Refusal, Scope, Seen, Wish, admit, charges, latest, refills, unseen
from dueline.domain.ids import RunId
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.places import vacate
from dueline.store.sqlite.session import Session

_SQL = queries("gates")
_RUNS = queries("runs")


class GatePart(Part):
    async def enter(self, wishes: Sequence[Wish], *, ahead_ms: int) -> dict[RunId, int]:
        return await self._database.write(_enter, wishes, ahead_ms)

    async def look_at(self, gate: Gate) -> tuple[Seen, int]:
        return await self._database.read(_look_at, gate)

    async def refill(self, *, ahead_ms: int, limit: int) -> None:
        await self._database.write(_refill, ahead_ms, limit)

    async def sweep_gates(self, *, limit: int) -> int:
        return await self._database.write(_sweep_gates, limit)


def stand(session: Session, gates: Sequence[Gate]) -> dict[GateId, Seen]:
    """What gates let through, and how they stand."""
    rows = [
        (
            gate_id.hex(),
            gate.scope,
            gate.tenant,
            gate.name,
            gate.as_of,
            gate.most,
            None if gate.rate is None else gate.rate.interval_us,
            1 if gate.rate is None else gate.rate.burst,
        )
        for gate_id, gate in latest(gates).items()
    ]
    return _seen(session, session.rows(_SQL["stand"], pack(rows)))


def leave_gates(session: Session, run_ids: Collection[bytes]) -> None:
    """Runs that are not under way any more leave their places, and the first that wait for them become ready."""
    gates = session.rows(_SQL["gates"], pack_ids(run_ids)) if run_ids else []
    if not gates:
        return
    left = Counter(map(itemgetter(0), session.rows(_SQL["leave"], pack_ids(run_ids))))
    for gate, scope, name, most, refill_ms in gates:
        if scope == Scope.QUEUE:
            session.wake(f"ready/{name}")
        if most is not None and refill_ms is None:
            _free_next(session, gate, left[gate])


def _enter(session: Session, wishes: Sequence[Wish], ahead_ms: int) -> dict[RunId, int]:
    tokens = {wish.run_id: wish.token for wish in wishes}
    claims = pack([(run_id.hex(), token) for run_id, token in tokens.items()])
    held = {row[0] for row in session.rows(_SQL["wishes"], claims)}
    wishes = [wish for wish in wishes if wish.run_id in held]
    # Those who are about to pass do not count, and what they have of earlier times is gone.
    session.rows(_SQL["leave"], pack_ids([wish.run_id for wish in wishes]))
    seen = stand(session, [gate for wish in wishes for gate in wish.gates])
    now_ms = session.now_ms
    starts, refused = admit(wishes, seen, now_us=now_ms * 1000, until_us=(now_ms + ahead_ms) * 1000)
    taken = [(gate.id.hex(), wish.run_id.hex()) for wish in wishes if wish.run_id in starts for gate in wish.gates]
    session.rows(_SQL["take_places"], pack(taken))
    charged = charges(wishes, seen, refused, now_ms=now_ms, ahead_ms=ahead_ms)
    session.rows(_SQL["charge"], pack([(one.gate.hex(), one.full_us, one.refill_ms, one.awaited) for one in charged]))
    _hold(session, tokens, refused)
    if any(refusal.for_token for refusal in refused.values()):
        session.wake("waiting")
    return starts


def _hold(session: Session, tokens: Mapping[RunId, int], refused: Mapping[RunId, Refusal]) -> None:
    """Those that do not pass: held at their gates, or back in their queues."""
    waiting = [
        (run_id.hex(), tokens[run_id], refusal.gate.hex(), refusal.reason)
        for run_id, refusal in refused.items()
        if not refusal.stays_ready
    ]
    session.rows(_SQL["hold_refused"], pack(waiting))
    back = [(run_id.hex(), tokens[run_id]) for run_id, refusal in refused.items() if refusal.stays_ready]
    rows = session.rows(_RUNS["release"], pack(back))
    vacate(session, [(run_id, job_id) for run_id, job_id, begun_ms, _ in rows if begun_ms is None])


def _look_at(session: Session, gate: Gate) -> tuple[Seen, int]:
    seen = unseen(gate)
    for seen.full_us, seen.taken in session.rows(_SQL["look"], gate.id):
        break
    return seen, session.now_ms


def _refill(session: Session, ahead_ms: int, limit: int) -> None:
    due = refills(_seen(session, session.rows(_SQL["refilled"], limit)), now_ms=session.now_ms, ahead_ms=ahead_ms)
    for refill in due:
        _free_next(session, refill.gate, refill.room)
    session.rows(_SQL["refill"], pack([(refill.gate.hex(), refill.next_ms) for refill in due]))


def _sweep_gates(session: Session, limit: int) -> int:
    session.rows(_SQL["sweep_places"])
    forgotten = session.rows(_SQL["forget"], limits.GATE_KEPT_MS, limit, limits.JOB_GATE_KEPT_MS)
    rows = session.rows(_SQL["sweep_found"], limit)
    freed = sum(_free_next(session, gate, limits.GATE_FREED_MAX if room is None else room) for gate, room in rows)
    return max(freed, len(forgotten))


def _seen(session: Session, rows: list[Any]) -> dict[GateId, Seen]:
    taken = dict(session.rows(_SQL["count_places"], pack_ids([row[0] for row in rows])))
    seen = {}
    for gate, scope, most, interval_us, burst, full_us, as_of in rows:
        seen[gate] = Seen(Scope(scope), most, interval_us, burst, full_us, taken[gate], as_of)
    return seen


def _free_next(session: Session, gate: GateId, room: int) -> int:
    freed = session.rows(_SQL["free_next"], gate, room)
    session.wake(*{f"ready/{row[0]}" for row in freed})
    return len(freed)
