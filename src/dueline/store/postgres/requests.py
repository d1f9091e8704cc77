"""Requests that may be sent again, on PostgreSQL."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.requests import AskedRequest, KeptAnswer, RequestKey
from dueline.store.postgres.part import Part, queries
from dueline.store.records import answer_columns, to_asked_request

_SQL = queries("requests")


class RequestPart(Part):
    async def asked_before(self, key: RequestKey) -> AskedRequest | None:
        args = (key.tenant, key.endpoint, key.key, limits.REQUEST_KEPT_MS)
        rows = await self._database.fetch(_SQL["find"], *args)
        return to_asked_request(rows[0]) if rows else None

    async def keep_answer(self, key: RequestKey, answer: KeptAnswer) -> None:
        args = (key.tenant, key.endpoint, key.key, key.digest)
        await self._database.execute(_SQL["answer"], *args, *answer_columns(answer))

    async def forget_requests(self, *, limit: int) -> int:
        return len(await self._database.fetch(_SQL["forget"], limits.REQUEST_KEPT_MS, limit))
