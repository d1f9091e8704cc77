"""The load to come, over all jobs of a tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.forecast import Forecast
from dueline.domain.ids import JobId
from dueline.domain.states import JobState
from dueline.engine.calendars import load_calendars
from dueline.runtime.clock import StoreTime
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import JobStore
from dueline.store.shapes import JobFilter


class ForecastStore(JobStore, CalendarStore, Protocol):
    """What forecasts need of the store."""


class Outlook(msgspec.Struct, frozen=True):
    """A forecast, and whether it counts all jobs."""

    forecast: Forecast
    complete: bool


class Forecasts:
    def __init__(self, store: ForecastStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def look_ahead(self, tenant: str, *, hours: int) -> Outlook:
        """The expected load of every minute from now on; jobs past the bound are left out, and that is told."""
        forecast = Forecast(from_ms=self._time().now_ms(), minutes=hours * 60)
        definitions = []
        before: JobId | None = None
        match = JobFilter(tenant=tenant, state=JobState.ACTIVE)
        complete = False
        while forecast.jobs < limits.FORECAST_JOBS_MAX:
            page = await self._store.jobs_page(match, before=before, limit=limits.PAGE_ROWS_MAX)
            for job in page:
                if job.definition.schedule is not None:
                    schedule, left = job.definition.schedule, job.position.runs_left
                    forecast.add(schedule, job.definition.name, runs_left=left)
                    if schedule.calendars:
                        definitions.append(job.definition)
            if len(page) < limits.PAGE_ROWS_MAX:
                complete = True
                break
            before = page[-1].id
        calendars = await load_calendars(self._store, tenant, definitions)
        # Up to seconds of arithmetic: the loop has other things to do meanwhile.
        await asyncio.to_thread(forecast.count, calendars)
        return Outlook(forecast, complete)
