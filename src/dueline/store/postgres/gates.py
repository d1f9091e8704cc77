"""Gates on PostgreSQL: who may start, who waits, and who is next when somebody leaves."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from dueline.domain import limits
from dueline.domain.gates import (
    Charge,
    Gate,
    GateId,
    Refill,
    Refusal,
    Scope,
    Seen,
    Wish,
    admit,
    charges,
    latest,
    refills,
    unseen,
)
from dueline.domain.ids import RunId
from dueline.store.postgres.database import Database
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection

_SQL = queries("gates")
_RUNS = queries("runs")
_JOBS = queries("jobs")


class GatePart(Part):
    async def enter(self, wishes: Sequence[Wish], *, ahead_ms: int) -> dict[RunId, int]:
        """With one question if there is room for all, as is the rule; otherwise it is decided one by one, while the gates are locked."""
        gates = latest(gate for wish in wishes for gate in wish.gates)
        tokens = {wish.run_id: wish.token for wish in wishes}
        if all(gate.rate is None and gate == gates[gate.id] for wish in wishes for gate in wish.gates):
            seen, held, now_ms = await _stand(self._database, gates, tokens, _places(wishes))
            if not seen:
                return dict.fromkeys(held, now_ms)
        async with self._database.transaction() as connection:
            seen, held, now_ms = await _stand(connection, gates, tokens)
            wishes = [wish for wish in wishes if wish.run_id in held]
            if not wishes:
                return {}
            starts, refused = admit(wishes, seen, now_us=now_ms * 1000, until_us=(now_ms + ahead_ms) * 1000)
            if starts:
                await connection.execute(
                    _SQL["take_places"], *_places(wish for wish in wishes if wish.run_id in starts)
                )
            await _charge(connection, charges(wishes, seen, refused, now_ms=now_ms, ahead_ms=ahead_ms))
            await _hold(connection, tokens, refused)
        if any(refusal.for_token for refusal in refused.values()):
            self._notices.announce("waiting")
        return starts

    async def look_at(self, gate: Gate) -> tuple[Seen, int]:
        rows = await self._database.fetch(_SQL["look"], gate.id)
        seen = unseen(gate)
        if rows:
            seen.full_us, seen.taken = rows[0]["full_us"], rows[0]["taken"]
        return seen, rows[0]["now_ms"] if rows else await self._database.fetchval(_JOBS["clock"])

    async def refill(self, *, ahead_ms: int, limit: int) -> None:
        topics: set[str] = set()
        async with self._database.transaction() as connection:
            rows = await connection.fetch(_SQL["refilled"], limit)
            if rows:
                seen = {row["gate"]: _seen(row) for row in rows}
                now_ms = await _count(connection, seen)
                topics = await _refill(connection, refills(seen, now_ms=now_ms, ahead_ms=ahead_ms))
        self._notices.announce(*topics)

    async def sweep_gates(self, *, limit: int) -> int:
        await self._database.fetch(_SQL["sweep_places"])
        forgotten = await self._database.fetch(_SQL["forget"], limits.GATE_KEPT_MS, limit, limits.JOB_GATE_KEPT_MS)
        rooms = {row[0]: row[1] for row in await self._database.fetch(_SQL["sweep_found"], limit)}
        if not rooms:
            return len(forgotten)
        room = [limits.GATE_FREED_MAX if room is None else room for room in rooms.values()]
        freed = await self._database.fetch(_SQL["free_next"], list(rooms), room)
        self._notices.announce(*{f"ready/{row[0]}" for row in freed})
        return max(len(freed), len(forgotten))


async def stand(connection: Connection, gate: Gate) -> tuple[Seen, int]:
    """Lock a gate; answers how it stands, and the time."""
    seen, _, now_ms = await _stand(connection, {gate.id: gate}, {})
    return seen[gate.id], now_ms


def _places(wishes: Iterable[Wish]) -> tuple[list[GateId], list[RunId]]:
    """What those need who pass: gates and runs, as the arrays that `stand` and `take_places` unnest."""
    pairs = [(gate.id, wish.run_id) for wish in wishes for gate in wish.gates]
    return [gate_id for gate_id, _ in pairs], [run_id for _, run_id in pairs]


async def _stand(
    asked: Connection | Database,
    gates: Mapping[GateId, Gate],
    tokens: Mapping[RunId, int],
    wanted: tuple[list[GateId], list[RunId]] = ([], []),
) -> tuple[dict[GateId, Seen], set[RunId], int]:
    """Lock claims and gates, in order; answers how the gates stand without those who claim, who still does, and the time. No gates: all
    that was wanted is taken."""
    named = sorted(gates.items())
    rows = await asked.fetch(
        _SQL["stand"],
        list(tokens),
        list(tokens.values()),
        [gate_id for gate_id, _ in named],
        [gate.scope for _, gate in named],
        [gate.tenant for _, gate in named],
        [gate.name for _, gate in named],
        [gate.as_of for _, gate in named],
        [gate.most for _, gate in named],
        [None if gate.rate is None else gate.rate.interval_us for _, gate in named],
        [1 if gate.rate is None else gate.rate.burst for _, gate in named],
        *wanted,
    )
    seen, held, now_ms = {}, set(), 0
    for gate_id, scope, most, interval_us, burst, full_us, as_of, taken, moment_ms in rows:
        if scope is None:
            held.add(RunId(gate_id))
        else:
            seen[GateId(gate_id)] = Seen(Scope(scope), most, interval_us, burst, full_us, taken, as_of)
        now_ms = max(now_ms, moment_ms)
    return seen, held, now_ms


async def leave_gates(connection: Connection, run_ids: Collection[bytes]) -> set[str]:
    """Runs that are not under way any more leave their places, and the first that wait for them become ready. Answers whom to wake."""
    rows = await connection.fetch(_SQL["leave"], list(run_ids)) if run_ids else []
    return {f"ready/{row[0]}" for row in rows}


async def _count(connection: Connection, seen: Mapping[GateId, Seen]) -> int:
    rows = await connection.fetch(_SQL["count_places"], list(seen))
    for row in rows:
        seen[row["gate"]].taken = row["taken"]
    now_ms: int = rows[0]["now_ms"]
    return now_ms


async def _charge(connection: Connection, charged: Sequence[Charge]) -> None:
    if charged:
        await connection.execute(
            _SQL["charge"],
            [charge.gate for charge in charged],
            [charge.full_us for charge in charged],
            [charge.refill_ms for charge in charged],
            [charge.awaited for charge in charged],
        )


async def _hold(connection: Connection, tokens: Mapping[RunId, int], refused: Mapping[RunId, Refusal]) -> None:
    """Those that do not pass: held at their gates, or back in their queues."""
    waiting = [(run_id, refusal) for run_id, refusal in sorted(refused.items()) if not refusal.stays_ready]
    if waiting:
        await connection.execute(
            _SQL["hold_refused"],
            [run_id for run_id, _ in waiting],
            [tokens[run_id] for run_id, _ in waiting],
            [refusal.gate for _, refusal in waiting],
            [refusal.reason for _, refusal in waiting],
        )
    back = [run_id for run_id, refusal in sorted(refused.items()) if refusal.stays_ready]
    if back:
        await connection.execute(_RUNS["release"], back, [tokens[run_id] for run_id in back])


async def _refill(connection: Connection, due: Sequence[Refill]) -> set[str]:
    gates = [refill.gate for refill in due]
    freed = await connection.fetch(_SQL["free_next"], gates, [refill.room for refill in due])
    await connection.execute(_SQL["refill"], gates, [refill.next_ms for refill in due])
    return {f"ready/{row[0]}" for row in freed}


def _seen(row: Any) -> Seen:
    """Before its places are counted."""
    _, scope, most, interval_us, burst, full_us, as_of = row
    return Seen(Scope(scope), most, interval_us, burst, full_us, 0, as_of)
