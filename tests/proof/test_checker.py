"""The judge finds every invariant that is broken, and nothing where all is well."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from proof import records
from proof.checker.__main__ import main
from proof.checker.evidence import Evidence
from proof.checker.verdict import RULES, judge
from proof.records import Answered, Fault, Occurrence, Queue, Worker, write_lines
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


def without_run(evidence: Evidence, run_id: str) -> Evidence:
    return spoilt(
        evidence,
        runs=[one for one in evidence.runs if one.id != run_id],
        hits=[hit for hit in evidence.hits if hit.run != run_id],
        occurrences=[one for one in evidence.occurrences if one.run_id != run_id],
    )


def lost_occurrence(evidence: Evidence) -> Evidence:
    return without_run(evidence, "run_every_7")


def lost_adhoc(evidence: Evidence) -> Evidence:
    return without_run(evidence, "run_hand_3")


def unfinished_run(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_7", state="running", finished_at=None, attempts=[])


def unseen_success(evidence: Evidence) -> Evidence:
    return spoilt(evidence, hits=[hit for hit in evidence.hits if hit.run != "run_every_7"])


def left_out_without_cause(evidence: Evidence) -> Evidence:
    """Told to have been skipped for another run of its job, which had ended long before."""
    ended = attempt(1, 0, lasts_s=2)
    return with_run(evidence, "run_alone_0", attempts=[ended], finished_at=ended.finished_at)


def missed_without_cause(evidence: Evidence) -> Evidence:
    gone = without_run(evidence, "run_every_18")
    told = Occurrence(job_id="job_every", scheduled_at=at(18), verdict="coalesced", reason=None, run_id=None)
    return spoilt(gone, occurrences=[*gone.occurrences, told])


def phantom_hit(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", run="run_nobody")


def foreign_body(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", marker="alone")


def unscheduled_run(evidence: Evidence) -> Evidence:
    odd = run("every", 7.5, [attempt(1, 7.5)])
    return spoilt(evidence, runs=[*evidence.runs, odd], hits=[*evidence.hits, *hits_of(odd)])


def unasked_run(evidence: Evidence) -> Evidence:
    odd = run("nobody", 7, [attempt(1, 7)], kind="adhoc")
    return spoilt(evidence, runs=[*evidence.runs, odd], hits=[*evidence.hits, *hits_of(odd)])


def written_twice(evidence: Evidence) -> Evidence:
    odd = run("hand", 4, [attempt(1, 4)], kind="adhoc")
    return spoilt(evidence, runs=[*evidence.runs, odd], hits=[*evidence.hits, *hits_of(odd)])


def started_while_paused(evidence: Evidence) -> Evidence:
    pause = call("pause", 15.2, marker="every", id="job_every")
    return spoilt(evidence, calls=[*evidence.calls, pause])


def doubled_hit(evidence: Evidence) -> Evidence:
    (hit,) = (hit for hit in evidence.hits if hit.run == "run_every_7")
    return spoilt(evidence, hits=[*evidence.hits, msgspec.structs.replace(hit, at_s=hit.at_s + 1)])


def doubled_run(evidence: Evidence) -> Evidence:
    twin = msgspec.structs.replace(run("every", 7, [attempt(1, 7)]), id="run_twin")
    return spoilt(evidence, runs=[*evidence.runs, twin], hits=[*evidence.hits, *hits_of(twin)])


def hit_after_success(evidence: Evidence) -> Evidence:
    (hit,) = (hit for hit in evidence.hits if hit.run == "run_every_7")
    attempts = [attempt(1, 7), attempt(2, 8, outcome="refused")]
    told = with_run(evidence, "run_every_7", attempts=attempts, state="failed", finished_at=at(8.05))
    return spoilt(told, hits=[*told.hits, msgspec.structs.replace(hit, at_s=BEGIN_S + 8, attempt=2, token=3)])


def lost_without_a_fault(evidence: Evidence) -> Evidence:
    return spoilt(evidence, faults=[msgspec.structs.replace(evidence.faults[0], planned=True)])


def forgotten_claim(evidence: Evidence) -> Evidence:
    forgotten = attempt(1, 16, lasts_s=1, outcome="timed_out", started_at=None)
    told = with_run(evidence, "run_every_16", attempts=[forgotten, attempt(2, 18)], finished_at=at(18.05))
    return with_hit(told, "run_every_16", attempt=2, token=3, at_s=BEGIN_S + 18.004)


def untold_attempt(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", token=9)


def early_start(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", at_s=BEGIN_S + 6.99)


def impatient(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_hopeless_10", path="/first/retry-after/2")


def two_ends(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_5", attempts=[attempt(1, 5), attempt(2, 14)])


def changed_end(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_1", finished_at=at(1.2))


def former_owner(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_7", attempts=[attempt(1, 7, token=1), attempt(2, 7.2, token=1)])


def times_out_of_order(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_7", attempts=[attempt(1, 7, claimed_at=at(7.3), started_at=at(7.01))])


def no_state(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_7", state="done")


def seen_after_its_end(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", at_s=BEGIN_S + 7.5)


def two_of_an_exclusive_job(evidence: Evidence) -> Evidence:
    second = attempt(1, 10, lasts_s=0.5)
    told = with_run(evidence, "run_alone_10", attempts=[second], state="succeeded", finished_at=second.finished_at)
    return spoilt(told, hits=[*told.hits, *hits_of(run("alone", 10, [second]))])


def leaked_count(evidence: Evidence) -> Evidence:
    return spoilt(evidence, queues=[Queue(name="default", ready=0, running=1, held=0, waiting=0)])


def busy_at_rest(evidence: Evidence) -> Evidence:
    return spoilt(evidence, workers=[Worker(id="two", role="worker", state="alive", busy=3)])


def job_gone(evidence: Evidence) -> Evidence:
    return spoilt(evidence, jobs=[job for job in evidence.jobs if job.id != "job_alone"])


def pause_forgotten(evidence: Evidence) -> Evidence:
    return spoilt(evidence, calls=[*evidence.calls, call("pause", 25, marker="every", id="job_every")])


def skipped_without_a_word(evidence: Evidence) -> Evidence:
    told = [msgspec.structs.replace(one, reason=None) for one in evidence.occurrences]
    return with_run(spoilt(evidence, occurrences=told), "run_alone_10", reason=None)


def dead_letter_missing(evidence: Evidence) -> Evidence:
    return spoilt(evidence, dead_letters=[])


def listed_twice(evidence: Evidence) -> Evidence:
    return spoilt(evidence, runs=[*evidence.runs, evidence.runs[0]])


def stuck(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_hopeless_10", state="retrying", finished_at=None)


def no_evidence(evidence: Evidence) -> Evidence:
    return spoilt(evidence, faults=[msgspec.structs.replace(evidence.faults[0], evidence={})])


def did_not_bite(evidence: Evidence) -> Evidence:
    return spoilt(evidence, faults=[msgspec.structs.replace(evidence.faults[0], evidence={"gone": False})])


def no_fault(evidence: Evidence) -> Evidence:
    return spoilt(evidence, faults=[])


BROKEN: list[tuple[str, Callable[[Evidence], Evidence]]] = [
    ("I1", lost_occurrence),
    ("I1", lost_adhoc),
    ("I1", unfinished_run),
    ("I1", unseen_success),
    ("I1", left_out_without_cause),
    ("I1", missed_without_cause),
    ("I2", phantom_hit),
    ("I2", foreign_body),
    ("I2", unscheduled_run),
    ("I2", unasked_run),
    ("I2", written_twice),
    ("I2", started_while_paused),
    ("I3", doubled_hit),
    ("I3", doubled_run),
    ("I4", hit_after_success),
    ("I4", lost_without_a_fault),
    ("I4", untold_attempt),
    ("I4", forgotten_claim),
    ("I5", early_start),
    ("I5", impatient),
    ("I6", two_ends),
    ("I6", changed_end),
    ("I7", former_owner),
    ("I7", untold_attempt),
    ("I8", times_out_of_order),
    ("I8", no_state),
    ("I8", seen_after_its_end),
    ("I9", two_of_an_exclusive_job),
    ("I10", leaked_count),
    ("I10", busy_at_rest),
    ("I11", lost_adhoc),
    ("I11", job_gone),
    ("I11", pause_forgotten),
    ("I12", lost_occurrence),
    ("I12", skipped_without_a_word),
    ("I13", dead_letter_missing),
    ("I14", listed_twice),
    ("I14", phantom_hit),
    ("I15", stuck),
    ("I17", no_evidence),
    ("I17", did_not_bite),
    ("I17", no_fault),
]


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


def test_what_waits_when_its_job_is_deleted_is_cancelled() -> None:
    """But not before."""
    late = with_run(clean(), "run_every_18", attempts=[], state="cancelled", reason="job_deleted", finished_at=at(19.6))
    late = spoilt(
        without_run(late, "run_every_19"),
        hits=[hit for hit in late.hits if hit.run not in ("run_every_18", "run_every_19")],
    )
    deleted = call("delete", 18.8, marker="every", id="job_every")
    told = [job for job in late.jobs if job.id != "job_every"]
    assert judge(spoilt(late, calls=[*late.calls, deleted], jobs=told)).broken == []
    early = with_run(late, "run_every_18", finished_at=at(18.5))
    assert judge(spoilt(early, calls=[*late.calls, deleted], jobs=told)).broken == ["I1"]


def test_what_an_outage_kept_from_being_written_may_be_deleted() -> None:
    """But only what an outage did."""
    gone = without_run(clean(), "run_every_18")
    gone = without_run(gone, "run_every_19")
    deleted = call("delete", 18.8, marker="every", id="job_every")
    told = [job for job in gone.jobs if job.id != "job_every"]
    gone = spoilt(gone, calls=[*gone.calls, deleted], jobs=told, occurrences=[])
    assert judge(gone).broken == ["I1"]
    outage = msgspec.structs.replace(gone.faults[0], settled_s=BEGIN_S + 18.5)
    assert judge(spoilt(gone, faults=[outage])).broken == []


def test_figures_tell_lag_failover_and_recovery() -> None:
    verdict = judge(clean())
    assert verdict.figures["occurrences"] == 23
    assert verdict.figures["second_hits"] == 2
    assert verdict.figures["lost_attempts"] == 1
    assert verdict.figures["lag_p95_outside_ms"] == pytest.approx(4, abs=1)
    (fault,) = verdict.faults
    assert (fault.lost, fault.second_hits, fault.in_flight) == (1, 1, 2)
    assert fault.failover_s == pytest.approx(BEGIN_S + 14 - KILLED_S, abs=0.1)
    assert fault.recovery_s == pytest.approx(BEGIN_S + 14 - (KILLED_S + 8), abs=0.1)


def test_a_figure_that_is_not_reached_is_told() -> None:
    evidence = clean()
    slow = msgspec.structs.replace(evidence.scenario, wanted={"failover_s": 5.0, "handover_ms": 200.0})
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
    assert len(records.read_lines(path, Fault)) == 1
