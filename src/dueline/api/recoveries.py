"""Recoveries over HTTP: what is overdue after an outage, and the decision about it."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, optional_body, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain import limits
from dueline.domain.access import KeyRole
from dueline.domain.ids import job_text
from dueline.domain.instants import format_instant
from dueline.domain.planning import MisfirePolicy
from dueline.engine.recoveries import JobRecovery, RecoveryAsked, RecoveryPlan
from dueline.wire.labels import check_rate
from dueline.wire.problems import Problems
from dueline.wire.recoveries import JobRecoveryView, RecoveryInput, RecoveryView

PLAN_QUERY = ("policy", "rate")


async def plan(surface: Surface, request: Request) -> Response:
    query = Query(request, PLAN_QUERY)
    policy, rate = query.choice("policy", MisfirePolicy), query.number("rate")
    asked = _asked(request, policy, limits.RECOVERY_RATE_DEFAULT if rate is None else rate, query.problems)
    return json_answer(_view(await surface.recoveries.plan(asked), applied=False))


async def apply(surface: Surface, request: Request) -> Response:
    problems = Problems()
    body = await optional_body(request, RecoveryInput, problems)
    asked = _asked(request, body.policy, body.rate, problems)
    return json_answer(_view(await surface.recoveries.apply(asked), applied=True))


def _asked(request: Request, policy: MisfirePolicy | None, rate: float, problems: Problems) -> RecoveryAsked:
    check_rate(rate, "rate", problems, most=limits.BACKFILL_RATE_MAX)
    problems.raise_any()
    return RecoveryAsked(tenant=tenant_of(request), policy=policy, rate=rate)


def _view(plan: RecoveryPlan, *, applied: bool) -> RecoveryView:
    return RecoveryView(
        applied=applied,
        at=format_instant(plan.now_ms),
        rate=plan.rate,
        overdue_jobs=plan.overdue_jobs,
        runs=plan.runs,
        waiting=plan.waiting,
        drained_at=format_instant(plan.drained_ms),
        complete=plan.complete,
        jobs=[_job(share) for share in plan.jobs[: limits.RECOVERY_JOBS_SHOWN]],
    )


def _job(share: JobRecovery) -> JobRecoveryView:
    since_ms = share.overdue_since_ms
    return JobRecoveryView(
        job_id=job_text(share.job_id),
        name=share.name,
        policy=share.policy,
        overdue_since=None if since_ms is None else format_instant(since_ms),
        run=share.run,
        coalesce=share.coalesce,
        skip=share.skip,
        waiting=share.waiting,
        more=share.more,
    )


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/recovery",
        handler=plan,
        summary="Show what is overdue after an outage, and what would become of it.",
        response=RecoveryView,
        query=PLAN_QUERY,
    ),
    ApiRoute(
        method="POST",
        path="/v1/recovery",
        handler=apply,
        needs=KeyRole.OPERATOR,
        summary="Decide what is overdue, by one policy and at one pace.",
        request=RecoveryInput,
        response=RecoveryView,
        repeatable=True,
    ),
)
