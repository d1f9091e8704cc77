"""A job's "when", as it is stored: what was asked for, checked and in canonical form. `firetimes` turns it into instants."""

from __future__ import annotations

import msgspec

from dueline.domain.localtime import DstGap, DstOverlap


class At(msgspec.Struct, frozen=True, tag="at"):
    """Once, at an instant."""

    at_ms: int


class Cron(msgspec.Struct, frozen=True, tag="cron", omit_defaults=True):
    """Whenever a cron expression matches the wall clock of a zone.

    `hashed` is the expression with numbers for every `H`, and empty where there was none. Numbers are what is searched for, so that
    jobs share their answers.
    """

    expression: str
    timezone: str = "UTC"
    dst_gap: DstGap = DstGap.RUN_AFTER
    dst_overlap: DstOverlap = DstOverlap.FIRST
    hashed: str = ""

    @property
    def concrete(self) -> str:
        return self.hashed or self.expression


class Every(msgspec.Struct, frozen=True, tag="every"):
    """At a fixed rate: anchor + k × period in real time, whatever the wall clock does."""

    period_ms: int
    anchor_ms: int


Schedule = At | Cron | Every
