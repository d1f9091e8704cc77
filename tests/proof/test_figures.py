"""What the judge tells besides the promises, and what he does not hold against anybody when something was wrong."""

from __future__ import annotations

import msgspec
import pytest

from proof.checker.evidence import Evidence
from proof.checker.verdict import judge
from proof.records import Fault, Run, Stall
from tests.proof.logs import BEGIN_S, at, attempt, call, clean, hits_of, run, spoilt

BACKLOG = 11


def with_backlogs(evidence: Evidence, *, last_s: dict[float, float]) -> Evidence:
    """Backlogs that were written at some seconds, the last run of each so many seconds after its first."""
    calls, runs = list(evidence.calls), list(evidence.runs)
    hits = list(evidence.hits)
    for begin, lasts_s in last_s.items():
        for number in range(BACKLOG):
            second = begin + lasts_s * number / (BACKLOG - 1)
            one = run(f"backlog-{begin:g}-{number}", second, [attempt(1, second)], kind="adhoc")
            runs.append(one)
            hits += hits_of(one)
            calls.append(call("adhoc", begin - 0.5, marker=one.tags[0], id=one.id, asked={"tags": one.tags}))
    return spoilt(evidence, calls=calls, runs=runs, hits=hits)


def test_backlogs_that_met_a_fault_are_held_against_those_that_did_not() -> None:
    """The fault lasts from second 5 to 15, with the time in which all has to be as before."""
    verdict = judge(with_backlogs(clean(), last_s={1: 1.0, 3: 1.25, 6: 1.25, 8: 2.0, 11: 2.0, 17: 1.0}))
    assert verdict.broken == []
    assert verdict.figures["drain_outside_per_s"] == pytest.approx((10 + 8 + 10) / 3, rel=0.01)
    assert verdict.figures["drain_inside_per_s"] == pytest.approx((8 + 5 + 5) / 3, rel=0.01)
    assert verdict.figures["drain_slower_percent"] == pytest.approx(35.7, abs=0.5)


@pytest.mark.parametrize(
    ("free_s", "held_s", "surely"),
    [
        # As even as they are, a sixth is a sixth.
        ((1.0, 1.0), (1.2, 1.2, 1.2), (16, 17)),
        # The held ones alone tell nothing: between 7 and 11.
        ((1.0, 1.0), (1.4, 1.2, 0.9), (-15, 0)),
        ((1.0, 1.3), (1.2, 1.2, 1.2), (-20, 0)),
    ],
)
def test_only_what_their_spread_does_not_explain_is_sure(
    free_s: tuple[float, float], held_s: tuple[float, float, float], surely: tuple[float, float]
) -> None:
    last_s = dict(zip((1.0, 17.0), free_s, strict=True)) | dict(zip((6.0, 8.0, 11.0), held_s, strict=True))
    figures = judge(with_backlogs(clean(), last_s=last_s)).figures
    assert surely[0] < figures["drain_surely_slower_percent"] < surely[1]


def test_a_backlog_that_was_written_by_several_calls_is_one() -> None:
    """The second call is made while what the first asked for is being worked off; the third is not."""
    verdict = judge(with_backlogs(clean(), last_s={1: 2.0, 2.5: 1.5, 5.9: 4.0, 10.5: 4.0, 17: 3.0}))
    assert verdict.figures["drain_outside_per_s"] == pytest.approx((21 / 3 + 10 / 3) / 2, rel=0.01)
    assert verdict.figures["drain_inside_per_s"] == pytest.approx(10 / 4, rel=0.01)


def test_without_backlogs_there_is_no_rate() -> None:
    assert "drain_slower_percent" not in judge(clean()).figures


def test_what_waited_for_the_machine_is_not_held_against_anybody() -> None:
    """All that is due in the first four seconds is called when the disk answers again, at the end of them."""
    evidence = clean()
    hits = [msgspec.structs.replace(hit, at_s=BEGIN_S + 4) if hit.at_s < BEGIN_S + 4 else hit for hit in evidence.hits]
    late = spoilt(evidence, hits=hits)
    assert judge(late).figures["lag_p95_outside_ms"] > 1_000
    stall = Stall(what="disk", begin_s=BEGIN_S, end_s=BEGIN_S + 4)
    excused = judge(spoilt(late, stalls=[stall])).figures
    assert excused["lag_p95_outside_ms"] < 250
    assert excused["machine_stalled_s"] == 4.0
    another = msgspec.structs.replace(stall, begin_s=BEGIN_S + 4.1)
    assert judge(spoilt(late, stalls=[another])).figures["lag_p95_outside_ms"] > 1_000


def an_hour_ago(one: Run, second: float) -> Run:
    """As it is told when the store's clock was set back before it was claimed."""
    told = attempt(1, second - 3600)
    return msgspec.structs.replace(one, attempts=[told], finished_at=told.finished_at)


def behind_an_hour(begin: float, settled: float) -> Fault:
    """The store's clock, between two seconds."""
    return Fault(
        kind="clock jump",
        victim="PostgreSQL",
        begin_s=BEGIN_S + begin,
        end_s=BEGIN_S + settled,
        settled_s=BEGIN_S + settled,
        store_clock_s=-3600.0,
        evidence={"an hour behind": True},
    )


def test_times_of_a_clock_that_was_wrong_are_not_compared() -> None:
    evidence = clean()
    runs = [an_hour_ago(one, 18) if one.id == "run_every_18" else one for one in evidence.runs]
    assert "I8" in judge(spoilt(evidence, runs=runs)).broken
    jump = behind_an_hour(17, 19)
    assert judge(spoilt(evidence, runs=runs, faults=[*evidence.faults, jump])).broken == []
    elsewhere = msgspec.structs.replace(jump, store_clock_s=-7200.0)
    assert "I8" in judge(spoilt(evidence, runs=runs, faults=[*evidence.faults, elsewhere])).broken


def test_an_end_that_could_not_be_reported_still_kept_others_out() -> None:
    """`alone` is under way until second 3, and told to be in the way in second 10; the fault of second 5 to 15 can have kept it there."""
    evidence = clean()
    early = attempt(1, 0, lasts_s=3)
    runs = [
        msgspec.structs.replace(one, attempts=[early], finished_at=early.finished_at)
        if one.id == "run_alone_0"
        else one
        for one in evidence.runs
    ]
    assert judge(spoilt(evidence, runs=runs)).broken == ["I1"]
    fault, noise = evidence.faults
    before = msgspec.structs.replace(fault, begin_s=BEGIN_S + 2.5)
    assert judge(spoilt(evidence, runs=runs, faults=[before, noise])).broken == []


def test_what_kept_others_out_is_told_by_a_clock_that_was_right() -> None:
    """`alone` stood in its own way in second 10, which the store told an hour too early."""
    evidence = clean()
    behind = at(10.01 - 3600)
    runs = [
        msgspec.structs.replace(one, finished_at=behind) if one.reason == "overlap" else one for one in evidence.runs
    ]
    jump = behind_an_hour(9, 14)
    assert judge(spoilt(evidence, runs=runs, faults=[*evidence.faults, jump])).broken == []
    later = msgspec.structs.replace(jump, begin_s=BEGIN_S + 10.5)
    assert "I1" in judge(spoilt(evidence, runs=runs, faults=[*evidence.faults, later])).broken
