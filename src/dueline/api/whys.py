"""Why runs and jobs wait, and who shares a queue, over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.queues import name_of
from dueline.api.requests import job_id_of, run_id_of, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain.ids import job_text, run_text
from dueline.domain.instants import format_instant
from dueline.domain.rates import TURNS_FORGET_S
from dueline.engine.jobwhys import JobWhy
from dueline.engine.shares import TenantShare
from dueline.engine.whys import Why
from dueline.wire.whys import GateView, JobWhyView, SharesView, TenantShareView, WhyView


async def why(surface: Surface, request: Request) -> Response:
    return json_answer(_why_view(await surface.whys.why(tenant_of(request), run_id_of(request))))


async def job_why(surface: Surface, request: Request) -> Response:
    return json_answer(_job_why_view(await surface.job_whys.why(tenant_of(request), job_id_of(request))))


async def shares(surface: Surface, request: Request) -> Response:
    queue = name_of(request, noun="queue")
    items = [_share_view(share) for share in await surface.shares.of_queue(queue)]
    return json_answer(SharesView(queue=queue, window_s=TURNS_FORGET_S, items=items))


def _why_view(found: Why) -> WhyView:
    return WhyView(
        run_id=run_text(found.run.id),
        state=found.run.state,
        waits_for=found.waits_for,
        because=found.because,
        place=found.place,
        place_is_exact=found.counted_all,
        before=found.before,
        next_eligible_at=None if found.next_ms is None else format_instant(found.next_ms),
        limit=_gate_view(found),
        other_run_id=None if found.other is None else run_text(found.other),
    )


def _job_why_view(found: JobWhy) -> JobWhyView:
    return JobWhyView(
        job_id=job_text(found.job.id),
        name=found.job.definition.name,
        state=found.job.state,
        waits_for=found.waits_for,
        because=found.because,
        also=list(found.also),
        next_due_at=None if found.next_ms is None else format_instant(found.next_ms),
        run_id=None if found.run is None else run_text(found.run),
    )


def _gate_view(found: Why) -> GateView | None:
    gate = found.gate
    if gate is None:
        return None
    interval_us = gate.seen.interval_us
    return GateView(
        scope=gate.seen.scope,
        name=gate.name,
        limit=gate.seen.most,
        running=gate.seen.taken,
        starts_per_second=None if interval_us is None else round(1_000_000 / interval_us, 3),
        waiting_before=gate.before,
        run_ids=[run_text(run_id) for run_id in gate.under_way],
    )


def _share_view(share: TenantShare) -> TenantShareView:
    return TenantShareView(
        tenant=share.tenant,
        weight=share.weight,
        ready=share.ready,
        oldest_age_s=None if share.oldest_age_ms is None else share.oldest_age_ms / 1000,
        rate=round(share.rate, 2),
        used_share=None if share.used is None else round(share.used, 4),
        entitled_share=round(share.entitled, 4),
        delayed_by={tenant: round(part, 4) for tenant, part in share.delayed_by.items()},
    )


RUN_ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/runs/{id}/why",
        handler=why,
        summary="Tell what a run waits for, at which place it stands, and when it may go on.",
        response=WhyView,
    ),
)

JOB_ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/jobs/{id}/why",
        handler=job_why,
        summary="Tell why a job does not run now, and when it runs next.",
        response=JobWhyView,
    ),
)

QUEUE_ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/queues/{name}/shares",
        handler=shares,
        is_shared=True,
        summary="Tell who shares a queue: entitled to what, got what, and delayed by whom.",
        response=SharesView,
    ),
)
