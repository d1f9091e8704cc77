"""Requests that may be sent again, on SQLite."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.requests import AskedRequest, KeptAnswer, RequestKey
from dueline.store.records import answer_columns, to_asked_request
from dueline.store.sqlite.part import Part, queries
from dueline.store.sqlite.session import Session

_SQL = queries("requests")


class RequestPart(Part):
    async def asked_before(self, key: RequestKey) -> AskedRequest | None:
        return await self._database.read(_asked_before, key)

    async def keep_answer(self, key: RequestKey, answer: KeptAnswer) -> None:
        await self._database.write(_keep_answer, key, answer)

    async def forget_requests(self, *, limit: int) -> int:
        return await self._database.write(_forget_requests, limit)


def _asked_before(session: Session, key: RequestKey) -> AskedRequest | None:
    rows = session.rows(_SQL["find"], key.tenant, key.endpoint, key.key, limits.REQUEST_KEPT_MS)
    return to_asked_request(rows[0]) if rows else None


def _keep_answer(session: Session, key: RequestKey, answer: KeptAnswer) -> None:
    session.rows(_SQL["answer"], key.tenant, key.endpoint, key.key, key.digest, *answer_columns(answer))


def _forget_requests(session: Session, limit: int) -> int:
    return len(session.rows(_SQL["forget"], limits.REQUEST_KEPT_MS, limit))
