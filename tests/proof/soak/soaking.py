"""A soak made by hand: two jobs for half an hour, one accident, and everything as it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from proof.load import instant
from proof.records import Attempt, Call, Fault, Hit, Run, write_lines
from proof.soak.records import Sample, Soak
from proof.soak.tally import hits_of_runs, tally
from proof.soak.trends import MB
from proof.soak.verdict import SoakEvidence
from tests.proof.logs import BEGIN_S, call

LASTED_S = 1_800.0
KILLED_S = BEGIN_S + 900.005
AGAIN = "run_every-1_90"
"""Of second 900, whose first attempt was lost."""


def created(marker: str, second: float) -> Call:
    schedule = {
        "every": "PT10S",
        "start_at": instant(BEGIN_S + second),
        "end_at": instant(BEGIN_S + LASTED_S - 0.001),
    }
    return call("create", -3.0, marker=marker, id=f"job_{marker}", asked={"schedule": schedule, "tags": [marker]})


def hit(marker: str, run: str, second: float, *, late_s: float = 0.004, attempt: int = 1) -> Hit:
    return Hit(
        at_s=BEGIN_S + second + late_s,
        monotonic_s=0.0,
        path="/ok",
        run=run,
        attempt=attempt,
        token=2 * attempt - 1,
        job=f"job_{marker}",
        scheduled_at=instant(BEGIN_S + second),
        marker=marker,
    )


def calls() -> list[Call]:
    once = {"schedule": {"at": instant(BEGIN_S + 7)}, "tags": ["once-3"]}
    return [
        created("every-1", 0),
        created("every-2", 5),
        call("create", 5, marker="once-3", id="job_once-3", asked=once),
        call("adhoc", 8, marker="adhoc-4", id="run_adhoc", asked={"tags": ["adhoc-4"]}),
        call("run_now", 9, marker="every-1", id="run_now"),
    ]


def hits() -> list[Hit]:
    found = [
        hit(f"every-{job}", f"run_every-{job}_{number}", number * 10 + 5 * (job - 1))
        for number in range(180)
        for job in (1, 2)
    ]
    found += [hit("once-3", "run_once", 7), hit("adhoc-4", "run_adhoc", 8), hit("every-1", "run_now", 9.25)]
    found.append(hit("every-1", AGAIN, 900, late_s=9.0, attempt=2))
    return sorted(found, key=lambda one: one.at_s)


def attempt(number: int, second: float, lasts_s: float, outcome: str) -> Attempt:
    return Attempt(
        attempt=number,
        token=2 * number - 1,
        worker="one",
        claimed_at=instant(BEGIN_S + second - 0.5),
        started_at=instant(BEGIN_S + second + 0.002),
        finished_at=instant(BEGIN_S + second + lasts_s),
        outcome=outcome,
    )


def run_again() -> Run:
    attempts = [attempt(1, 900, 8.4, "lost"), attempt(2, 908.998, 0.05, "succeeded")]
    return Run(
        id=AGAIN,
        job_id="job_every-1",
        kind="scheduled",
        state="succeeded",
        tags=["every-1"],
        scheduled_at=instant(BEGIN_S + 900),
        due_at=instant(BEGIN_S + 900),
        created_at=instant(BEGIN_S + 899),
        finished_at=attempts[-1].finished_at,
        reason=None,
        attempts=attempts,
    )


def samples() -> list[Sample]:
    return [
        Sample(
            BEGIN_S + second,
            {
                "memory worker-1": 80 * MB,
                "descriptors worker-1": 40.0,
                "table runs": 2 * MB,
                "table history_20260101": second * 0.2 * 300,
                "overdue runs": 0.0,
                "connections all": 20.0,
                "jobs all": 3.0,
                "idle machine": 0.4,
            },
        )
        for second in range(10, 1800, 10)
    ]


def evidence(folder: Path, seen: list[Hit], **other: Any) -> SoakEvidence:
    """As it is read after a soak in which the target saw these."""
    log = folder / "hits.jsonl"
    write_lines(log, seen)
    fault = Fault(
        kind="kill -9",
        victim="worker-2",
        begin_s=KILLED_S,
        end_s=KILLED_S + 8,
        settled_s=KILLED_S + 10,
        evidence={"gone": True},
    )
    told = tally(log, calls(), [fault])
    known = SoakEvidence(
        soak=Soak(
            seed=1,
            rate=2,
            began_s=BEGIN_S,
            ended_s=BEGIN_S + LASTED_S,
            rested_s=BEGIN_S + LASTED_S + 5,
            faults_min=1,
            ended={"scheduled succeeded": 361, "adhoc succeeded": 1, "manual succeeded": 1},
            live=0,
            both=0,
            dead_letters=0,
        ),
        tally=told,
        calls=calls(),
        faults=[fault],
        samples=samples(),
        hits=hits_of_runs(log, {AGAIN}),
        runs=[run_again()],
    )
    return msgspec.structs.replace(known, **other)
