"""Answers about calendars, schedules, everything at once, and the process itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.names import CREATED, DUE, ENDED, JOB_ID, SCHEDULE, STARTED
from dueline.domain.planning import MisfirePolicy
from dueline.wire.audits import AuditView, LateView
from dueline.wire.calendars import CalendarView
from dueline.wire.forecasts import ForecastView, HotMinuteView, PeakView, ProposalView, ShareView
from dueline.wire.health import Health
from dueline.wire.previews import FireView, PreviewView
from dueline.wire.recoveries import JobRecoveryView, RecoveryView
from dueline.wire.schedules import ScheduleForm
from dueline.wire.upcoming import UpcomingView

ANSWERS: Mapping[Any, Any] = {
    PreviewView: PreviewView(
        canonical=ScheduleForm(cron="30 2 * * *", timezone="Europe/Berlin"),
        description="At 02:30 every day, Europe/Berlin",
        fires=[
            FireView(
                "2026-03-29T01:00:00.000Z",
                "2026-03-29T03:00:00+02:00",
                "02:30 does not exist on this day: comes at 03:00",
            )
        ],
        next="2026-03-29T01:00:00.000Z",
    ),
    CalendarView: CalendarView(
        name="holidays",
        dates=["12-25", "2026-12-24/2027-01-01"],
        weekdays=["SAT", "SUN"],
        version=1,
        updated_at=CREATED,
    ),
    AuditView: AuditView(
        job_id=JOB_ID,
        name="daily-report",
        from_="2026-03-29T07:00:00.000Z",
        to=ENDED,
        expected=1,
        verdicts={"late": 1},
        reasons={},
        missed=0,
        doubled=0,
        late=1,
        missed_at=[],
        doubled_at=[],
        late_starts=[LateView(DUE, "2026-03-30T07:00:06.000Z")],
    ),
    RecoveryView: RecoveryView(
        applied=False,
        at=STARTED,
        rate=100.0,
        overdue_jobs=1,
        runs=1,
        waiting=0,
        drained_at=ENDED,
        complete=True,
        jobs=[
            JobRecoveryView(
                job_id=JOB_ID,
                name="daily-report",
                policy=MisfirePolicy.FIRE_ONCE,
                overdue_since="2026-03-27T08:00:00.000Z",
                run=1,
                coalesce=1,
                skip=0,
                waiting=0,
                more=False,
            )
        ],
    ),
    UpcomingView: UpcomingView(
        job_id=JOB_ID,
        job_name="daily-report",
        scheduled_at="2026-03-29T01:00:00.000Z",
        due_at="2026-03-29T01:00:00.000Z",
        local="2026-03-29T03:00:00+02:00",
        note="02:30 does not exist on this day: comes at 03:00",
        run_id=None,
    ),
    ForecastView: ForecastView(
        from_=DUE,
        minutes=[120.0, 3.5],
        total=123.5,
        jobs=130,
        complete=True,
        peak=PeakView(DUE, 120.0),
        hottest=[
            HotMinuteView(
                at=DUE,
                runs=120.0,
                by=[ShareView(schedule=SCHEDULE, jobs=120, runs=120.0, names=["daily-report"])],
            )
        ],
        proposals=[
            ProposalView(
                schedule=SCHEDULE,
                jobs=120,
                names=["daily-report"],
                change="H 9 * * 1-5",
                peak_before=120.0,
                peak_after=5.5,
            )
        ],
    ),
    Health: Health("live"),
}
