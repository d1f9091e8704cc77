"""The judge finds every invariant that is broken, and nothing where all is well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from proof import records
from proof.checker.__main__ import main
from proof.checker.arrivals import A_LINE
from proof.checker.evidence import Evidence
from proof.checker.figures import BITES_S
from proof.checker.verdict import RULES, judge
from proof.records import Answered, Fault, Occurrence, write_lines
from tests.proof.logs import (
    BEGIN_S,
    KILLED_S,
    at,
    attempt,
    call,
    clean,
    created,
    every,
    hits_of,
    run,
    spoilt,
    with_hit,
    with_run,
)
from tests.proof.spoilers import BROKEN, without_run


@pytest.mark.parametrize(("invariant", "spoil"), BROKEN)
def test_what_is_broken_is_found(invariant: str, spoil: Callable[[Evidence], Evidence]) -> None:
    assert invariant in judge(spoil(clean())).broken


def test_every_rule_is_broken_once() -> None:
    assert {invariant for invariant, _ in BROKEN} == {rule(clean()).invariant for rule in RULES}


def test_where_all_is_well_nothing_is_found() -> None:
    verdict = judge(clean())
    assert [finding for finding in verdict.findings if finding.violations] == []
    assert [finding.invariant for finding in verdict.findings if finding.verdict == "no data"] == []
    assert verdict.missed == []
    assert verdict.is_green


def test_what_nobody_answered_may_be_and_may_be_not() -> None:
    """A job and a run whose creation was not answered are neither demanded nor phantoms."""
    unknown = msgspec.structs.replace(created("perhaps", every(10)), answered=Answered.UNKNOWN, id=None)
    asked = call("adhoc", 3, marker="maybe", answered=Answered.UNKNOWN, asked={"tags": ["maybe"]})
    evidence = spoilt(clean(), calls=[*clean().calls, unknown, asked])
    assert judge(evidence).broken == []
    written = run("maybe", 3, [attempt(1, 3)], kind="adhoc")
    there = spoilt(evidence, runs=[*evidence.runs, written], hits=[*evidence.hits, *hits_of(written)])
    assert judge(there).broken == []


def test_a_paused_job_owes_nothing_until_it_is_resumed() -> None:
    gone = without_run(without_run(clean(), "run_every_16"), "run_every_17")
    told = [
        Occurrence(job_id="job_every", scheduled_at=at(second), verdict="skipped", reason="paused", run_id=None)
        for second in (16, 17)
    ]
    changes = [
        call(what, second, marker="every", id="job_every") for what, second in (("pause", 15.5), ("resume", 17.5))
    ]
    evidence = spoilt(gone, calls=[*gone.calls, *changes], occurrences=[*gone.occurrences, *told])
    assert judge(evidence).broken == []


def deleted_while_waiting(due: int, ended: float, answered: Answered = Answered.ACKNOWLEDGED) -> Evidence:
    """`every` is deleted at 18.8, which is answered at 18.81, and its run for a second is told to have ended by that."""
    name = f"run_every_{due}"
    told = with_run(clean(), name, attempts=[], state="cancelled", reason="job_deleted", finished_at=at(ended))
    told = spoilt(told, hits=[hit for hit in told.hits if hit.run != name])
    deleted = call("delete", 18.8, marker="every", id="job_every", answered=answered)
    return spoilt(
        without_run(told, "run_every_19"),
        calls=[*told.calls, deleted],
        jobs=[job for job in told.jobs if job.id != "job_every"],
    )


@pytest.mark.parametrize(
    ("due", "ended", "answered", "broken"),
    [
        (18, 18.805, Answered.ACKNOWLEDGED, []),
        (18, 18.5, Answered.ACKNOWLEDGED, ["I1"]),
        (18, 19.6, Answered.ACKNOWLEDGED, ["I1"]),
        (18, 19.6, Answered.UNKNOWN, []),
        (18, 60.0, Answered.UNKNOWN, ["I1"]),
        (17, 18.805, Answered.ACKNOWLEDGED, ["I1"]),
    ],
    ids=["by it", "before it", "after it", "unanswered", "long after it", "had long been due"],
)
def test_what_waits_when_its_job_is_deleted_is_cancelled(
    due: int, ended: float, answered: Answered, broken: list[str]
) -> None:
    assert judge(deleted_while_waiting(due, ended, answered)).broken == broken


def test_what_was_hurt_or_tried_in_vain_may_long_have_been_due_when_its_job_is_deleted() -> None:
    told = deleted_while_waiting(17, 18.805)
    hurt = msgspec.structs.replace(told.faults[0], settled_s=BEGIN_S + 17.5)
    assert judge(spoilt(told, faults=[hurt, told.faults[1]])).broken == []
    tried = attempt(1, 17, outcome="refused")
    hits = hits_of(run("every", 17, [tried]))
    assert judge(with_run(spoilt(told, hits=[*told.hits, *hits]), "run_every_17", attempts=[tried])).broken == []


@pytest.mark.parametrize(("others", "broken"), [(A_LINE, []), (A_LINE - 1, ["I1"])])
def test_what_stands_in_line_may_long_have_been_due_when_its_job_is_deleted(others: int, broken: list[str]) -> None:
    line = [run(f"other-{number}", 16, [attempt(1, 19.5)], kind="adhoc") for number in range(others)]
    asked = [call("adhoc", 15, marker=one.tags[0], id=one.id, asked={"tags": one.tags}) for one in line]
    told = deleted_while_waiting(17, 18.805)
    hits = [hit for one in line for hit in hits_of(one)]
    there = spoilt(told, calls=[*told.calls, *asked], runs=[*told.runs, *line], hits=[*told.hits, *hits])
    assert judge(there).broken == broken


def test_what_an_outage_kept_from_being_written_may_be_deleted() -> None:
    """But only what an outage did."""
    gone = without_run(clean(), "run_every_18")
    gone = without_run(gone, "run_every_19")
    deleted = call("delete", 18.8, marker="every", id="job_every")
    told = [job for job in gone.jobs if job.id != "job_every"]
    gone = spoilt(gone, calls=[*gone.calls, deleted], jobs=told, occurrences=[])
    assert judge(gone).broken == ["I1"]
    outage = msgspec.structs.replace(gone.faults[0], settled_s=BEGIN_S + 18.5)
    assert judge(spoilt(gone, faults=[outage, gone.faults[1]])).broken == []


def test_what_an_outage_kept_from_being_written_may_wait_for_a_paused_job_to_go_on() -> None:
    """But only what an outage did, and as long as nothing let it go on."""
    gone = without_run(without_run(clean(), "run_every_18"), "run_every_19")
    waiting = [
        Occurrence(job_id="job_every", scheduled_at=at(second), verdict="waiting", reason="paused", run_id=None)
        for second in (18, 19)
    ]
    told = [one for one in gone.occurrences if one.scheduled_at not in (at(18), at(19)) or one.job_id != "job_every"]
    jobs = [msgspec.structs.replace(job, state="paused") if job.id == "job_every" else job for job in gone.jobs]
    paused = call("pause", 18.8, marker="every", id="job_every")
    gone = spoilt(gone, calls=[*gone.calls, paused], jobs=jobs, occurrences=[*told, *waiting])
    assert judge(gone).broken == ["I1"]
    outage = msgspec.structs.replace(gone.faults[0], settled_s=BEGIN_S + 18.5)
    gone = spoilt(gone, faults=[outage, gone.faults[1]])
    assert judge(gone).broken == []
    assert "I1" in judge(spoilt(gone, occurrences=told)).broken, "nobody says that it waits"
    for answered, is_lost in ((Answered.UNKNOWN, False), (Answered.ACKNOWLEDGED, True)):
        resumed = call("resume", 18.9, marker="every", id="job_every", answered=answered)
        assert ("I1" in judge(spoilt(gone, calls=[*gone.calls, resumed])).broken) == is_lost


@pytest.mark.parametrize(("later_s", "in_flight"), [(0.0, 2), (BITES_S, 2), (BITES_S + 0.001, 1)])
def test_what_starts_while_a_fault_is_being_noted_is_under_way_when_it_bites(later_s: float, in_flight: int) -> None:
    there = clean()
    (lost,) = [(one.id, tried.token) for one in there.runs for tried in one.attempts if tried.outcome == "lost"]
    hits = [
        msgspec.structs.replace(hit, at_s=KILLED_S + later_s) if (hit.run, hit.token) == lost else hit
        for hit in there.hits
    ]
    fault = judge(spoilt(there, hits=hits)).faults[0]
    assert (fault.lost, fault.second_hits, fault.in_flight) == (1, 1, in_flight)


def test_figures_tell_lag_failover_and_recovery() -> None:
    verdict = judge(clean())
    assert verdict.figures["occurrences"] == 43
    assert verdict.figures["second_hits"] == 2
    assert verdict.figures["lost_attempts"] == 1
    assert verdict.figures["lag_p95_outside_ms"] == pytest.approx(4, abs=1)
    assert verdict.figures["quiet_lag_p95_beside_ms"] == pytest.approx(4, abs=1)
    fault = verdict.faults[0]
    assert (fault.lost, fault.second_hits, fault.in_flight) == (1, 1, 2)
    assert fault.failover_s == pytest.approx(BEGIN_S + 14 - KILLED_S, abs=0.1)
    assert fault.recovery_s == 0


def test_recovery_is_over_when_all_is_on_time_again_and_not_with_the_first_that_is() -> None:
    """The fault ends at 13.1: what is due at 14 is on time, what is due at 15 is not, and a hiccup at 19 is another matter."""
    told = clean()
    for second, late_s in ((15, 0.6), (19, 0.9)):
        for name in ("every", "quiet-1"):
            told = with_hit(told, f"run_{name}_{second}", at_s=BEGIN_S + second + late_s)
    assert judge(told).faults[0].recovery_s == 2.0


def test_a_figure_that_is_not_reached_is_told() -> None:
    evidence = clean()
    slow = msgspec.structs.replace(evidence.scenario, wanted={"failover_s": 5.0, "unheard_of_ms": 200.0})
    verdict = judge(spoilt(evidence, scenario=slow))
    assert len(verdict.missed) == 2
    assert not verdict.is_green
    assert verdict.broken == []


def test_the_verdict_is_left_beside_the_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evidence = clean()
    (tmp_path / records.SCENARIO).write_bytes(msgspec.json.encode(evidence.scenario))
    write_lines(tmp_path / "hits.jsonl", evidence.hits[:5])
    write_lines(tmp_path / "hits-other.jsonl", evidence.hits[5:])
    for name in ("CALLS", "FAULTS", "JOBS", "RUNS", "DEAD_LETTERS", "OCCURRENCES", "QUEUES", "WORKERS"):
        write_lines(tmp_path / getattr(records, name), getattr(evidence, name.lower()))
    assert main(tmp_path) == 0
    assert "GREEN" in capsys.readouterr().out
    assert (tmp_path / records.PICTURE).read_text().startswith("<svg")
    write_lines(tmp_path / records.DEAD_LETTERS, [])
    assert main(tmp_path) == 1
    assert "I13  BROKEN" in (tmp_path / records.PAGE).read_text()
    assert msgspec.json.decode((tmp_path / records.VERDICT).read_bytes())["broken"] == ["I13"]


def test_a_line_that_was_cut_off_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / records.FAULTS
    write_lines(path, clean().faults)
    path.write_bytes(path.read_bytes() + b'{"kind": "kill')
    assert len(records.read_lines(path, Fault)) == 2
