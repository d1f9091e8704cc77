"""Tenants: what is set for them, as people write it and as it stands."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from dueline.domain import limits
from dueline.domain.instants import format_instant
from dueline.domain.quotas import Quotas
from dueline.wire.merging import merge
from dueline.wire.problems import Problems
from dueline.wire.reading import WHOLE, check_names, read_value

QUOTAS_MOST = {
    "jobs": limits.QUOTA_JOBS_MAX,
    "running": limits.QUOTA_RUNNING_MAX,
    "runs_per_second": limits.QUOTA_RATE_MAX,
    "payload_bytes": limits.PAYLOAD_BYTES_CEILING,
    "run_now_per_minute": limits.QUOTA_RATE_MAX,
    "backfill_runs": limits.BACKFILL_RUNS_MAX,
    "retention_days": limits.HISTORY_DAYS_MAX,
}


class QuotasForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Null: no bound."""

    jobs: int | None = None
    running: int | None = None
    runs_per_second: int | None = None
    payload_bytes: int | None = None
    run_now_per_minute: int | None = None
    backfill_runs: int | None = None
    retention_days: int | None = None


class TenantInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out has its default: the weight 1, and no quotas."""

    READ_ONLY: ClassVar[frozenset[str]] = frozenset({"name", "used", "updated_at"})

    weight: float = 1.0
    quotas: QuotasForm = QuotasForm()


class UsedView(msgspec.Struct, frozen=True, kw_only=True):
    """What counts against quotas now. Runs that were asked for are counted only where there is a quota for them."""

    jobs: int
    running: int
    run_now_per_minute: int | None


class TenantView(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant. One that nothing was set for has all defaults, and no time at which it was."""

    name: str
    weight: float
    quotas: QuotasForm
    used: UsedView
    updated_at: str | None


def to_settings(asked: TenantInput, problems: Problems) -> tuple[float, Quotas]:
    """The weight and the quotas that were asked for, or Invalid with what is wrong, that which was told before included."""
    if not limits.WEIGHT_MIN <= asked.weight <= limits.WEIGHT_MAX:
        problems.add("weight", f"must be between {limits.WEIGHT_MIN:g} and {limits.WEIGHT_MAX:g}")
    written = msgspec.structs.asdict(asked.quotas)
    for name, value in written.items():
        if value is not None and not 1 <= value <= QUOTAS_MOST[name]:
            problems.add(f"quotas.{name}", f"must be between 1 and {QUOTAS_MOST[name]}, or null for no bound")
    problems.raise_any()
    return asked.weight, Quotas(**written)


def patched_tenant(weight: float, quotas: Quotas, patch: Any, problems: Problems) -> TenantInput:
    """What is set for a tenant with a merge patch applied, as if somebody had written it whole."""
    if not isinstance(patch, dict):
        problems.add(WHOLE, "must be a JSON object")
        problems.raise_any()
    check_names(patch, TenantInput, problems)
    writable = {"weight": weight, "quotas": msgspec.to_builtins(quotas)}
    return read_value(merge(writable, patch), TenantInput, problems)


def tenant_view(name: str, weight: float, quotas: Quotas, *, used: UsedView, updated_ms: int) -> TenantView:
    return TenantView(
        name=name,
        weight=weight,
        quotas=QuotasForm(**msgspec.structs.asdict(quotas)),
        used=used,
        updated_at=format_instant(updated_ms) if updated_ms else None,
    )
