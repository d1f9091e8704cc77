"""Processes on SQLite. All of them are parts of the one process that owns the file."""

from __future__ import annotations

from collections.abc import Mapping

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.store.fleet import NO_RATES, Beat, NewNode, Node, Pulse
from dueline.store.records import encode_rates, to_node, to_pulse, unwrap_tags, wrap_tags
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("members")


class MemberPart(Part):
    async def register(self, node: NewNode, *, lease_s: float) -> None:
        await self._database.write(_register, node, int(lease_s * 1000))

    async def beat(
        self, boot_id: BootId, *, lease_s: float, busy: int = 0, rates: Mapping[str, float] = NO_RATES
    ) -> Beat:
        """A beat is a write like any other, and waits for at most the group that is being committed."""
        return await self._database.write(_beat, boot_id, int(lease_s * 1000), busy, encode_rates(rates))

    async def ask_drain(self, boot_id: BootId) -> bool:
        return await self._database.write(_ask_drain, boot_id)

    async def drain(self, boot_id: BootId) -> None:
        await self._database.write(_drain, boot_id)

    async def leave(self, boot_id: BootId) -> None:
        await self._database.write(_leave, boot_id)

    async def bury(self, boot_id: BootId) -> bool:
        return await self._database.write(_bury, boot_id)

    async def nodes(self) -> list[Node]:
        return await self._database.read(_nodes)

    async def pulses(self) -> list[Pulse]:
        return await self._database.read(_pulses)


def _register(session: Session, node: NewNode, lease_ms: int) -> None:
    session.rows(
        _SQL["register"],
        node.boot_id,
        node.role,
        node.host,
        node.pid,
        node.version,
        lease_ms,
        wrap_tags(node.queues),
        wrap_tags(node.labels),
        wrap_tags(node.tasks),
        node.slots,
    )


def _beat(session: Session, boot_id: BootId, lease_ms: int, busy: int, rates: str) -> Beat:
    rows = session.rows(_SQL["beat"], boot_id, lease_ms, busy, rates)
    if not rows:
        raise LeaseLost(f"{boot_id} was declared dead")
    now_ms, drain_asked = rows[0]
    return Beat(now_ms, bool(drain_asked))


def _ask_drain(session: Session, boot_id: BootId) -> bool:
    asked = bool(session.rows(_SQL["ask_drain"], boot_id))
    if asked:
        session.wake("drain")
    return asked


def _drain(session: Session, boot_id: BootId) -> None:
    session.rows(_SQL["drain"], boot_id)


def _leave(session: Session, boot_id: BootId) -> None:
    session.rows(_SQL["leave"], boot_id)


def _bury(session: Session, boot_id: BootId) -> bool:
    return bool(session.rows(_SQL["bury"], boot_id))


def _nodes(session: Session) -> list[Node]:
    return [to_node(row, unwrap_tags) for row in session.rows(_SQL["list"])]


def _pulses(session: Session) -> list[Pulse]:
    return [to_pulse(row) for row in session.rows(_SQL["pulses"])]
