"""The judgement of a scenario: every invariant, the figures beside what was wanted, as one page and as JSON."""

from __future__ import annotations

import msgspec

from proof.checker import accounts, arrivals, histories, holdings, neighbours
from proof.checker.evidence import Evidence
from proof.checker.figures import FaultFigures, fault_figures, figures, starts
from proof.checker.findings import SHOWN, Finding

RULES = (
    arrivals.no_loss,
    arrivals.no_phantom,
    arrivals.unique,
    arrivals.explained,
    arrivals.never_early,
    histories.ends_once,
    histories.current_owner,
    histories.legal,
    holdings.within_limits,
    holdings.nothing_leaked,
    accounts.survives,
    accounts.says_why,
    accounts.dead_letters,
    accounts.exact_history,
    holdings.drains,
    neighbours.fair,
    accounts.not_vacuous,
)
COMPARING_TIMES = (histories.legal, holdings.within_limits)
ALWAYS_WANTED = {"second_hits_beyond_in_flight": 0.0}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    scenario: str
    seed: int
    store: str
    findings: list[Finding]
    figures: dict[str, float]
    faults: list[FaultFigures]
    missed: list[str]
    """Figures that are not what was wanted."""
    broken: list[str]
    """Invariants."""

    @property
    def is_green(self) -> bool:
        return not self.missed and not self.broken


def judge(evidence: Evidence) -> Verdict:
    timed = evidence.on_one_clock()
    findings = [rule(timed if rule in COMPARING_TIMES else evidence) for rule in RULES]
    told = figures(evidence)
    wanted = evidence.scenario.wanted | ALWAYS_WANTED
    return Verdict(
        scenario=evidence.scenario.name,
        seed=evidence.scenario.seed,
        store=evidence.scenario.store,
        findings=findings,
        figures=told,
        faults=fault_figures(evidence, starts(evidence)),
        missed=[
            f"{name} is {told.get(name, 'not known')}, and at most {most:g} was wanted"
            for name, most in wanted.items()
            if name not in told or told[name] > most
        ],
        broken=[finding.invariant for finding in findings if finding.violations],
    )


def page(verdict: Verdict) -> str:
    """For people."""
    lines = [
        f"{verdict.scenario} on {verdict.store}, seed {verdict.seed}: {'GREEN' if verdict.is_green else 'RED'}",
        "",
    ]
    for finding in verdict.findings:
        lines.append(f"{finding.invariant:4} {finding.verdict:8} {finding.looked_at:>8,}  {finding.promise}")
        lines += [f"{'':24}{what}: {count:,}" for what, count in finding.notes.items()]
        lines += [f"{'':24}✗ {problem}" for problem in finding.violations[:SHOWN]]
        if len(finding.violations) > SHOWN:
            lines.append(f"{'':24}✗ and {len(finding.violations) - SHOWN:,} more")
    lines += ["", *(f"{name:32} {value:>12,.3f}".rstrip("0").rstrip(".") for name, value in verdict.figures.items())]
    lines += [f"✗ {problem}" for problem in verdict.missed]
    lines += ["", *(_told(fault) for fault in verdict.faults)]
    return "\n".join(lines).rstrip() + "\n"


def _told(fault: FaultFigures) -> str:
    return (
        f"{fault.kind} of {fault.victim}: {fault.lasted_s:.1f} s, {fault.in_flight} in flight, {fault.lost} lost, "
        f"{fault.second_hits} hit again, all started after {_seconds(fault.failover_s)}, "
        f"on time {_seconds(fault.recovery_s)} after it healed"
    )


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:.2f} s"
