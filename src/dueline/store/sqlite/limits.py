"""What is set for queues, hosts and tenants, on SQLite."""

from __future__ import annotations

from dueline.domain.gates import Gate, Limit, Scope
from dueline.domain.ids import JobId
from dueline.store.records import limit_row, quota_limits, to_limit
from dueline.store.sqlite.gates import stand
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("limits")
_GATES = queries("gates")
_TENANTS = queries("tenants")


class LimitPart(Part):
    async def limits(self) -> list[Limit]:
        return await self._database.read(_limits)

    async def put_limit(self, limit: Limit) -> Limit:
        return await self._database.write(_put_limit, limit)

    async def delete_limit(self, scope: Scope, name: str) -> bool:
        return await self._database.write(_delete_limit, scope, name)


def _limits(session: Session) -> list[Limit]:
    return [*map(to_limit, session.rows(_SQL["all"])), *quota_limits(session.rows(_TENANTS["with_quotas"]))]


def _put_limit(session: Session, limit: Limit) -> Limit:
    row = limit_row(limit)
    written = to_limit((*row, session.value(_SQL["put"], *row)))
    set_gate(session, written)
    return written


def _delete_limit(session: Session, scope: Scope, name: str) -> bool:
    now_ms = session.value(_SQL["delete"], scope, name)
    if now_ms is not None:
        set_gate(session, Limit(scope=scope, name=name, updated_ms=now_ms))
    return now_ms is not None


def set_gate(session: Session, limit: Limit) -> None:
    """What its gate lets through from now on. What is under way counts, as far as the runs tell that they would have passed it."""
    gate = limit.gate
    stand(session, [gate])
    queue = limit.name if limit.scope is Scope.QUEUE else None
    tenant = limit.name if limit.scope is Scope.TENANT else None
    session.rows(_GATES["count_in"], gate.id, queue, tenant, None)
    if queue is not None:
        session.wake(f"ready/{queue}")


def set_job_gate(session: Session, gate: Gate, job_id: JobId) -> None:
    stand(session, [gate])
    session.rows(_GATES["count_in"], gate.id, None, None, job_id)
