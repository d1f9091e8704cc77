"""Backfills over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import expected_version, job_id_of, json_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.access import KeyRole
from dueline.domain.ids import run_text
from dueline.domain.instants import format_instant
from dueline.engine.backfills import BackfillAsked, BackfillRun
from dueline.wire.backfills import BackfillInput, BackfillItem, BackfillView, check_backfill
from dueline.wire.problems import Problems


async def backfill(surface: Surface, request: Request) -> Response:
    problems = Problems()
    asked = await json_body(request, BackfillInput, problems)
    from_ms, to_ms = check_backfill(asked, problems)
    runs = await surface.backfills.backfill(
        tenant_of(request),
        job_id_of(request),
        BackfillAsked(
            from_ms=from_ms,
            to_ms=to_ms,
            cap=asked.cap,
            rate=asked.rate,
            overlap=asked.overlap,
            dry_run=asked.dry_run,
        ),
        expected_version=expected_version(request),
    )
    view = BackfillView(
        dry_run=asked.dry_run,
        count=len(runs),
        new=sum(run.is_new for run in runs),
        items=[_item(run) for run in runs],
    )
    return json_answer(view, status=200 if asked.dry_run else 201)


def _item(run: BackfillRun) -> BackfillItem:
    return BackfillItem(
        run_id=run_text(run.run_id),
        scheduled_at=format_instant(run.scheduled_ms),
        due_at=format_instant(run.due_ms),
        new=run.is_new,
    )


ROUTES = (
    ApiRoute(
        method="POST",
        path="/v1/jobs/{id}/backfill",
        handler=backfill,
        needs=KeyRole.OPERATOR,
        summary="Run a job for occurrences of the past, or tell which they would be.",
        request=BackfillInput,
        response=BackfillView,
        status=201,
    ),
)
