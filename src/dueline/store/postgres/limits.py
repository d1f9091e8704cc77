"""What is set for queues, hosts and tenants, on PostgreSQL."""

from __future__ import annotations

from dueline.domain.gates import Gate, Limit, Scope
from dueline.domain.ids import JobId
from dueline.store.postgres.gates import stand
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import limit_row, quota_limits, to_limit

_SQL = queries("limits")
_GATES = queries("gates")
_TENANTS = queries("tenants")


class LimitPart(Part):
    async def limits(self) -> list[Limit]:
        found = [to_limit(row) for row in await self._database.fetch(_SQL["all"])]
        return found + quota_limits(await self._database.fetch(_TENANTS["with_quotas"]))

    async def put_limit(self, limit: Limit) -> Limit:
        async with self._database.transaction() as connection:
            row = limit_row(limit)
            written = to_limit((*row, await connection.fetchval(_SQL["put"], *row)))
            await set_gate(connection, written)
        self._announce(written)
        return written

    async def delete_limit(self, scope: Scope, name: str) -> bool:
        async with self._database.transaction() as connection:
            now_ms = await connection.fetchval(_SQL["delete"], scope, name)
            if now_ms is None:
                return False
            gone = Limit(scope=scope, name=name, updated_ms=now_ms)
            await set_gate(connection, gone)
        self._announce(gone)
        return True

    def _announce(self, limit: Limit) -> None:
        if limit.scope is Scope.QUEUE:
            self._notices.announce(f"ready/{limit.name}")


async def set_gate(connection: Connection, limit: Limit) -> None:
    """What its gate lets through from now on. What is under way counts, as far as the runs tell that they would have passed it."""
    gate = limit.gate
    await stand(connection, gate)
    queue = limit.name if limit.scope is Scope.QUEUE else None
    tenant = limit.name if limit.scope is Scope.TENANT else None
    await connection.execute(_GATES["count_in"], gate.id, queue, tenant, None)


async def set_job_gate(connection: Connection, gate: Gate, job_id: JobId) -> None:
    await stand(connection, gate)
    await connection.execute(_GATES["count_in"], gate.id, None, None, job_id)
