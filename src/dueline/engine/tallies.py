"""What a process counted since it started, for metrics."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from dueline.domain.run import OutcomeKind


class Tallies(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers that only grow. A process that was declared dead and starts again under another boot id may begin anew."""

    fenced: int = 0
    """Results that came too late: somebody else had the run by then."""
    leases_lost: int = 0
    attempts: Mapping[OutcomeKind, int] = {}
    """Attempts that ended here, by how they ended."""
