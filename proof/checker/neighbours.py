"""I16: a tenant that has little to do is not kept waiting by one that has much."""

from __future__ import annotations

from proof.checker.evidence import Evidence
from proof.checker.figures import percentile, quiet_lags_ms
from proof.checker.findings import Finding

TIMES = 2.0
ANYWAY_MS = 1_000.0
"""As late as this it may be whatever it is alone."""
STARTS_MIN = 5
"""Of fewer starts there is no 95th percentile worth the name, and a tenant that never came shows nothing."""


def fair(evidence: Evidence) -> Finding:
    """I16."""
    alone, beside = quiet_lags_ms(evidence)
    return Finding(
        invariant="I16",
        promise="a quiet tenant starts in time beside a noisy one",
        looked_at=len(alone) + len(beside),
        violations=_late(alone, beside) if alone or beside else [],
    )


def _late(alone: list[float], beside: list[float]) -> list[str]:
    if min(len(alone), len(beside)) < STARTS_MIN:
        return [f"{len(alone)} starts alone and {len(beside)} beside a noisy tenant show nothing"]
    alone_ms, beside_ms = percentile(alone, 95), percentile(beside, 95)
    if beside_ms <= max(TIMES * alone_ms, ANYWAY_MS):
        return []
    return [
        f"95 of 100 starts of a quiet tenant come within {beside_ms:.0f} ms beside a noisy one, {alone_ms:.0f} ms alone"
    ]
