"""A job's "when", as it is stored: what was asked for, checked and in canonical form. `firetimes` turns it into instants."""

from __future__ import annotations

import msgspec


class At(msgspec.Struct, frozen=True, tag="at"):
    """Once, at an instant."""

    at_ms: int


class Cron(msgspec.Struct, frozen=True, tag="cron"):
    """Whenever a cron expression matches the wall clock of a zone."""

    expression: str
    timezone: str = "UTC"


class Every(msgspec.Struct, frozen=True, tag="every"):
    """At a fixed rate: anchor + k × period in real time, whatever the wall clock does."""

    period_ms: int
    anchor_ms: int


Schedule = At | Cron | Every
