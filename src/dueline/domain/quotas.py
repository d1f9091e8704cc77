"""What a tenant may have and do. Without a quota there is no bound but the product's own."""

from __future__ import annotations

import msgspec

from dueline.domain.gates import Limit, Rate, Scope


class Quotas(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """None: no bound. Those on runs under way and on starts delay runs; the others refuse what is asked for."""

    jobs: int | None = None
    """Living jobs."""
    running: int | None = None
    """Runs under way at a time."""
    runs_per_second: int | None = None
    """Runs that start in a second."""
    payload_bytes: int | None = None
    """One payload."""
    run_now_per_minute: int | None = None
    """Jobs run by hand, and runs enqueued, in a minute."""
    backfill_runs: int | None = None
    """Runs of one backfill."""
    retention_days: int | None = None
    """How long finished runs are kept."""

    def limit(self, tenant: str, *, updated_ms: int) -> Limit | None:
        """What it says about runs that would start."""
        if self.running is None and self.runs_per_second is None:
            return None
        count = self.runs_per_second
        rate = None if count is None else Rate(count, 1_000, count)
        return Limit(scope=Scope.TENANT, name=tenant, most=self.running, rate=rate, updated_ms=updated_ms)
