"""Audits over HTTP: job by job, what was asked for against what became of it."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.durations import DAY_MS
from dueline.domain.errors import NotFound
from dueline.domain.ids import JobId, job_text
from dueline.domain.instants import format_instant
from dueline.engine.audits import JobAudit
from dueline.store.shapes import JobFilter
from dueline.wire.audits import AuditView, LateView
from dueline.wire.pages import Page, make_cursor, query_mark, read_cursor

LIST_QUERY = ("from", "to", "job_id", "limit", "cursor")
PAST_MS = DAY_MS
"""How far back an audit begins that does not say from when."""
OCCURRENCES_PER_PAGE = 20_000
"""Occurrences after which a page ends though it has room for more jobs: a fraction of a second of work."""


class _Match(msgspec.Struct, frozen=True, kw_only=True):
    tenant: str
    job_id: JobId | None
    from_ms: int | None
    to_ms: int | None


async def list_page(surface: Surface, request: Request) -> Response:
    query = Query(request, LIST_QUERY)
    asked_from_ms, asked_to_ms = query.period_ms()
    match = _Match(tenant=tenant_of(request), job_id=query.job_id(), from_ms=asked_from_ms, to_ms=asked_to_ms)
    limit, cursor, mark = query.limit(), query.text("cursor"), query_mark("audit", match)
    query.check()
    now_ms = surface.operations.now_ms()
    to_ms = now_ms if asked_to_ms is None else min(asked_to_ms - 1, now_ms)
    from_ms = min(to_ms, now_ms) - PAST_MS if asked_from_ms is None else asked_from_ms
    if match.job_id is not None:
        report = await surface.auditor.audit(match.tenant, match.job_id, from_ms=from_ms, to_ms=to_ms)
        return json_answer(Page([_view(report)], None))
    before = None if cursor is None else JobId(read_cursor(cursor, mark))
    jobs = await surface.insights.jobs(JobFilter(tenant=match.tenant), before=before, limit=limit + 1)
    found: list[AuditView] = []
    looked_at = 0
    for index, job in enumerate(jobs):
        if index == limit or looked_at >= OCCURRENCES_PER_PAGE:
            return json_answer(Page(found, make_cursor(mark, jobs[index - 1].id)))
        try:
            report = await surface.auditor.audit(match.tenant, job.id, from_ms=from_ms, to_ms=to_ms)
        except NotFound:
            continue
        looked_at += max(report.expected, sum(report.verdicts.values()))
        found.append(_view(report))
    return json_answer(Page(found, None))


def _view(report: JobAudit) -> AuditView:
    return AuditView(
        job_id=job_text(report.job_id),
        name=report.name,
        from_=format_instant(report.from_ms),
        to=format_instant(report.to_ms),
        expected=report.expected,
        verdicts=dict(sorted(report.verdicts.items())),
        reasons=dict(sorted(report.reasons.items())),
        missed=report.missed,
        doubled=report.doubled,
        late=report.late,
        missed_at=[format_instant(at_ms) for at_ms in report.missed_ms],
        doubled_at=[format_instant(at_ms) for at_ms in report.doubled_ms],
        late_starts=[
            LateView(format_instant(late.scheduled_ms), format_instant(late.started_ms)) for late in report.late_starts
        ],
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/audit",
        handler=list_page,
        summary="Compare, job by job, what schedules asked for with what became of it.",
        response=Page[AuditView],
        query=LIST_QUERY,
    ),
)
