"""What a tenant may have and do. Without a quota there is no bound but the product's own."""

from __future__ import annotations

import msgspec

from dueline.domain.errors import Invalid, OverQuota
from dueline.domain.gates import Gate, Limit, Rate, Scope, Seen
from dueline.domain.job import Target, payload_of

_MINUTE_MS = 60_000
_SECOND_US = 1_000_000


class Allowance(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a quota of requests is left: of so many in a time, and in how many seconds all of it is there again."""

    quota: str
    limit: int
    window_s: int
    left: int
    full_s: int


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

    def check_payload(self, target: Target) -> None:
        """Waiting does not make a payload smaller: one that is too large is Invalid."""
        if self.payload_bytes is None:
            return
        field, payload = payload_of(target)
        if len(payload) > self.payload_bytes:
            reason = f"is {len(payload)} bytes long, and the quota payload_bytes is {self.payload_bytes}"
            raise Invalid((f"target.{field}", reason))

    def check_backfill(self, runs: int) -> None:
        if self.backfill_runs is not None and runs > self.backfill_runs:
            raise OverQuota("backfill_runs", limit=self.backfill_runs, used=0, asked=runs)

    def asking(self, tenant: str, *, updated_ms: int) -> Gate | None:
        """The bucket from which whoever runs a job by hand, or enqueues a run, takes a token."""
        count = self.run_now_per_minute
        if count is None:
            return None
        return Gate(Scope.ASKING, tenant, rate=Rate(count, _MINUTE_MS, count), as_of=updated_ms)

    def check_asking(self, seen: Seen, count: int, *, now_ms: int) -> None:
        """Refuse so many runs if their tokens are not there, the bucket being as it was seen."""
        limit, now_us = self.run_now_per_minute, now_ms * 1_000
        wait_us = seen.wait_us(count, now_us)
        if limit is not None and wait_us:
            used = min(seen.spent(now_us), limit)
            wait_s = -(-wait_us // _SECOND_US) if count <= limit else None
            raise OverQuota("run_now_per_minute", limit=limit, used=used, asked=count, retry_after_s=wait_s)

    def left_to_ask(self, seen: Seen, count: int, *, now_ms: int) -> Allowance | None:
        """What is left of runs to ask for, so many being taken from the bucket as it was seen; none are where they are not there."""
        limit, now_us = self.run_now_per_minute, now_ms * 1_000
        if limit is None:
            return None
        after = msgspec.structs.replace(seen)
        if not seen.wait_us(count, now_us):
            after.draw(count, now_us)
        return Allowance(
            quota="run_now_per_minute",
            limit=limit,
            window_s=_MINUTE_MS // 1_000,
            left=max(limit - after.spent(now_us), 0),
            full_s=-(-max(after.full_us - now_us, 0) // _SECOND_US),
        )

    def limit(self, tenant: str, *, updated_ms: int) -> Limit | None:
        """What it says about runs that would start."""
        if self.running is None and self.runs_per_second is None:
            return None
        count = self.runs_per_second
        rate = None if count is None else Rate(count, 1_000, count)
        return Limit(scope=Scope.TENANT, name=tenant, most=self.running, rate=rate, updated_ms=updated_ms)
