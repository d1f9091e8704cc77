"""Forecasts: the load to come, minute by minute, and what would spread it."""

from __future__ import annotations

import msgspec

from dueline.domain.forecast import MINUTE_MS, Forecast, HotMinute, Proposal
from dueline.domain.instants import format_instant
from dueline.wire.schedules import ScheduleForm, schedule_form

HOURS_DEFAULT = 24
_DIGITS = 3


class PeakView(msgspec.Struct, frozen=True):
    at: str
    runs: float


class ShareView(msgspec.Struct, frozen=True, kw_only=True):
    """What the jobs with one schedule bring to a minute; the first of their names."""

    schedule: ScheduleForm | None
    jobs: int
    runs: float
    names: list[str]


class HotMinuteView(msgspec.Struct, frozen=True, kw_only=True):
    at: str
    runs: float
    by: list[ShareView]


class ProposalView(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the jobs with one schedule that lowers the peak: another cron expression, or a jitter."""

    schedule: ScheduleForm | None
    jobs: int
    names: list[str]
    change: str
    peak_before: float
    peak_after: float


class ForecastView(msgspec.Struct, frozen=True, kw_only=True):
    """Expected runs of every minute from `from` on; `complete` is false where there were more jobs than are looked at."""

    from_: str = msgspec.field(name="from")
    minutes: list[float]
    total: float
    jobs: int
    complete: bool
    peak: PeakView | None
    hottest: list[HotMinuteView]
    proposals: list[ProposalView]


def forecast_view(forecast: Forecast, *, complete: bool) -> ForecastView:
    peak = max(forecast.loads, default=0.0)
    hot_ms = forecast.from_ms + forecast.loads.index(peak) * MINUTE_MS if peak else 0
    return ForecastView(
        from_=format_instant(forecast.from_ms),
        minutes=[_rounded(load) for load in forecast.loads],
        total=_rounded(sum(forecast.loads)),
        jobs=forecast.jobs,
        complete=complete,
        peak=PeakView(format_instant(hot_ms), _rounded(peak)) if peak else None,
        hottest=[_hot_minute(minute) for minute in forecast.hottest()],
        proposals=[_proposal(proposal) for proposal in forecast.proposals()],
    )


def _hot_minute(minute: HotMinute) -> HotMinuteView:
    shares = [
        ShareView(
            schedule=schedule_form(share.schedule), jobs=share.jobs, runs=_rounded(share.runs), names=list(share.names)
        )
        for share in minute.shares
    ]
    return HotMinuteView(at=format_instant(minute.at_ms), runs=_rounded(minute.runs), by=shares)


def _proposal(proposal: Proposal) -> ProposalView:
    return ProposalView(
        schedule=schedule_form(proposal.schedule),
        jobs=proposal.jobs,
        names=list(proposal.names),
        change=proposal.change,
        peak_before=_rounded(proposal.peak_before),
        peak_after=_rounded(proposal.peak_after),
    )


def _rounded(load: float) -> float:
    return round(load, _DIGITS)
