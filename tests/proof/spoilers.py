"""Ways to spoil the logs made by hand, each with the promise that is broken by it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from proof.checker.evidence import Evidence
from proof.records import Books, Occurrence, Queue, Worker
from tests.proof.logs import BEGIN_S, at, attempt, call, hits_of, run, spoilt, with_hit, with_run


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
    forgotten = attempt(1, 2, lasts_s=1, outcome="timed_out", started_at=None)
    told = with_run(evidence, "run_every_2", attempts=[forgotten, attempt(2, 4)], finished_at=at(4.05))
    return with_hit(told, "run_every_2", attempt=2, token=3, at_s=BEGIN_S + 4.004)


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


def a_moment_too_early(evidence: Evidence) -> Evidence:
    """Fifty milliseconds before the first one has ended."""
    second = attempt(1, 11.948, lasts_s=0.5)
    told = with_run(evidence, "run_alone_10", attempts=[second], state="succeeded", finished_at=second.finished_at)
    return spoilt(told, hits=[*told.hits, *hits_of(run("alone", 10, [second]))])


def seen_before_its_claim(evidence: Evidence) -> Evidence:
    return with_run(evidence, "run_every_7", attempts=[attempt(1, 7, claimed_at=at(7.006), started_at=at(7.007))])


def started_before_its_claim(evidence: Evidence) -> Evidence:
    told = with_run(evidence, "run_every_7", attempts=[attempt(1, 7, claimed_at=at(7.048))])
    return with_hit(told, "run_every_7", at_s=BEGIN_S + 7.049)


def seen_a_moment_after_its_end(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_every_7", at_s=BEGIN_S + 7.11)


def claimed_before_the_last_end(evidence: Evidence) -> Evidence:
    refusals = [attempt(1, 10, outcome="refused"), attempt(2, 11.2, claimed_at=at(10.04), outcome="refused")]
    return with_run(evidence, "run_hopeless_10", attempts=refusals)


def given_up_early(evidence: Evidence) -> Evidence:
    tried = attempt(1, 10, outcome="refused")
    told = with_run(evidence, "run_hopeless_10", attempts=[tried], finished_at=tried.finished_at)
    return spoilt(told, hits=[hit for hit in told.hits if (hit.run, hit.attempt) != ("run_hopeless_10", 2)])


def tried_too_often(evidence: Evidence) -> Evidence:
    refusals = [attempt(number, 9 + number, outcome="refused") for number in (1, 2, 3)]
    return with_run(evidence, "run_hopeless_10", attempts=refusals, finished_at=refusals[-1].finished_at)


def in_both_tables(evidence: Evidence) -> Evidence:
    return spoilt(evidence, books=[Books(hot=1, archived=len(evidence.runs) - 1, both=1)])


def kept_and_not_listed(evidence: Evidence) -> Evidence:
    return spoilt(evidence, books=[Books(hot=0, archived=len(evidence.runs) + 1, both=0)])


def told_twice(evidence: Evidence) -> Evidence:
    return spoilt(evidence, occurrences=[*evidence.occurrences, evidence.occurrences[0]])


def in_no_account(evidence: Evidence) -> Evidence:
    return spoilt(evidence, occurrences=[one for one in evidence.occurrences if one.run_id != "run_every_7"])


def told_with_the_run_of_another(evidence: Evidence) -> Evidence:
    occurrences = [
        msgspec.structs.replace(one, run_id="run_every_8") if one.run_id == "run_every_7" else one
        for one in evidence.occurrences
    ]
    return spoilt(evidence, occurrences=occurrences)


def kept_waiting_by_the_noise(evidence: Evidence) -> Evidence:
    return with_hit(evidence, "run_quiet-1_12", at_s=BEGIN_S + 13.1)


def quiet_only_before_the_noise(evidence: Evidence) -> Evidence:
    quiet = {f"run_quiet-1_{second}" for second in range(10, 20)}
    return spoilt(evidence, hits=[hit for hit in evidence.hits if hit.run not in quiet])


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
    ("I8", seen_before_its_claim),
    ("I8", started_before_its_claim),
    ("I8", seen_a_moment_after_its_end),
    ("I8", claimed_before_the_last_end),
    ("I9", two_of_an_exclusive_job),
    ("I9", a_moment_too_early),
    ("I10", leaked_count),
    ("I10", busy_at_rest),
    ("I11", lost_adhoc),
    ("I11", job_gone),
    ("I11", pause_forgotten),
    ("I12", lost_occurrence),
    ("I12", skipped_without_a_word),
    ("I13", dead_letter_missing),
    ("I13", given_up_early),
    ("I13", tried_too_often),
    ("I14", listed_twice),
    ("I14", phantom_hit),
    ("I14", in_both_tables),
    ("I14", kept_and_not_listed),
    ("I14", told_twice),
    ("I14", in_no_account),
    ("I14", told_with_the_run_of_another),
    ("I15", stuck),
    ("I16", kept_waiting_by_the_noise),
    ("I16", quiet_only_before_the_noise),
    ("I17", no_evidence),
    ("I17", did_not_bite),
    ("I17", no_fault),
]
