"""The load to come, over HTTP."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from dueline.api.answers import json_answer
from dueline.api.requests import Query, tenant_of
from dueline.api.routes import ApiRoute, Surface
from dueline.domain import limits
from dueline.wire.forecasts import HOURS_DEFAULT, ForecastView, forecast_view

QUERY = ("hours",)


async def look_ahead(surface: Surface, request: Request) -> Response:
    query = Query(request, QUERY)
    hours = query.number("hours")
    if hours is None:
        hours = HOURS_DEFAULT
    elif not hours.is_integer() or not 1 <= hours <= limits.FORECAST_HOURS_MAX:
        query.problems.add("hours", f"must be a whole number between 1 and {limits.FORECAST_HOURS_MAX}")
    query.check()
    outlook = await surface.forecasts.look_ahead(tenant_of(request), hours=int(hours))
    return json_answer(forecast_view(outlook.forecast, complete=outlook.complete))


ROUTES = (
    ApiRoute(
        method="GET",
        path="/v1/forecast",
        handler=look_ahead,
        summary="Show the load of the hours to come, minute by minute, and what would spread it.",
        response=ForecastView,
        query=QUERY,
    ),
)
