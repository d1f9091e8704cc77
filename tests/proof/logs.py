"""Logs made by hand: a small scenario in which a worker dies and everything is as it should be, to be spoilt in one place by each test."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from proof.checker.evidence import Evidence
from proof.records import (
    Answered,
    Attempt,
    Call,
    DeadLetter,
    Fault,
    Hit,
    Job,
    Occurrence,
    Queue,
    Run,
    Scenario,
    Worker,
    instant_s,
)

BEGIN_S = 1_767_225_600.0
SECONDS = 20
KILLED_S = BEGIN_S + 5.1
"""In the middle of the call of `every` for second 5."""


def at(second: float) -> str:
    text = datetime.fromtimestamp(BEGIN_S + second, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def attempt(number: int, second: float, *, lasts_s: float = 0.05, outcome: str = "succeeded", **other: Any) -> Attempt:
    known: dict[str, Any] = {
        "attempt": number,
        "token": 2 * number - 1,
        "worker": "one",
        "claimed_at": at(second - 0.5),
        "started_at": at(second + 0.002),
        "finished_at": at(second + lasts_s),
        "outcome": outcome,
    }
    return Attempt(**(known | other))


def run(name: str, second: float, attempts: list[Attempt], *, kind: str = "scheduled", **other: Any) -> Run:
    known: dict[str, Any] = {
        "id": f"run_{name}_{second:g}",
        "job_id": f"job_{name}" if kind == "scheduled" else None,
        "kind": kind,
        "state": "succeeded",
        "tags": [name],
        "scheduled_at": at(second),
        "due_at": at(second),
        "created_at": at(second - 0.9),
        "finished_at": attempts[-1].finished_at if attempts else at(second),
        "reason": None,
        "attempts": attempts,
    }
    return Run(**(known | other))


def hits_of(one: Run) -> list[Hit]:
    path = "/status/500" if one.tags == ["hopeless"] else "/ok"
    return [
        Hit(
            at_s=instant_s(tried.started_at or tried.claimed_at) + 0.002,
            monotonic_s=0.0,
            path=path,
            run=one.id,
            attempt=tried.attempt,
            token=tried.token,
            job=one.job_id or "",
            scheduled_at=one.scheduled_at,
            marker=one.tags[0],
        )
        for tried in one.attempts
    ]


def created(name: str, schedule: dict[str, Any], **asked: Any) -> Call:
    return Call(
        operation="create",
        sent_s=BEGIN_S - 3,
        answered_s=BEGIN_S - 2.9,
        answered=Answered.ACKNOWLEDGED,
        status=201,
        marker=name,
        id=f"job_{name}",
        asked={"schedule": schedule, "tags": [name], **asked},
    )


def every(period_s: int) -> dict[str, Any]:
    return {"every": f"PT{period_s}S", "start_at": at(0), "end_at": at(SECONDS - 1)}


def call(operation: str, second: float, **other: Any) -> Call:
    known: dict[str, Any] = {
        "operation": operation,
        "sent_s": BEGIN_S + second,
        "answered_s": BEGIN_S + second + 0.01,
        "answered": Answered.ACKNOWLEDGED,
    }
    return Call(**(known | other))


def clean() -> Evidence:
    """`every` runs each second and loses the attempt of second 5; `hopeless` fails; `alone` is skipped when it is still under way.

    `quiet-1` is another tenant's, and has a noisy one beside it from second 10 on.
    """
    runs = [run("every", second, [attempt(1, second)]) for second in range(SECONDS) if second != 5]
    runs += [run("quiet-1", second, [attempt(1, second)]) for second in range(SECONDS)]
    again = attempt(2, 14, claimed_at=at(13.8))
    lost = attempt(1, 5, lasts_s=8.7, outcome="lost")
    runs.append(run("every", 5, [lost, again]))
    refusals = [attempt(1, 10, outcome="refused"), attempt(2, 11.2, outcome="refused")]
    runs.append(run("hopeless", 10, refusals, state="failed"))
    runs.append(run("alone", 0, [attempt(1, 0, lasts_s=12)]))
    runs.append(run("alone", 10, [], state="cancelled", reason="overlap", finished_at=at(10.01)))
    runs.append(run("hand", 3, [attempt(1, 3)], kind="adhoc"))
    hits = [hit for one in runs for hit in hits_of(one)]
    return Evidence(
        scenario=Scenario(
            name="by_hand",
            seed=1,
            store="none",
            began_s=BEGIN_S,
            ended_s=BEGIN_S + SECONDS + 5,
            dumped_s=BEGIN_S + SECONDS + 90,
            faults_min=1,
            wanted={"lag_p95_outside_ms": 250.0, "failover_s": 10.0},
        ),
        hits=hits,
        calls=[
            created("every", every(1), overlap="allow"),
            created("hopeless", {"at": at(10)}, retry={"max_attempts": 2}),
            created("alone", every(10)),
            created("quiet-1", every(1), overlap="allow"),
            call("adhoc", 2.5, marker="hand", id="run_hand_3", asked={"tags": ["hand"]}),
            call("look", 4, id="run_every_1", seen={"state": "succeeded", "finished_at": at(1.05)}),
        ],
        faults=_faults(),
        jobs=[
            Job(id=f"job_{name}", state="finished", tags=[name]) for name in ("every", "hopeless", "alone", "quiet-1")
        ],
        runs=runs,
        dead_letters=[DeadLetter(id="run_hopeless_10")],
        occurrences=[
            Occurrence(
                job_id=one.job_id,
                scheduled_at=one.scheduled_at,
                verdict="skipped" if one.reason else "fired",
                reason=one.reason,
                run_id=one.id,
            )
            for one in runs
            if one.job_id is not None and one.tags != ["hopeless"]
        ],
        queues=[Queue(name="default", ready=0, running=0, held=0, waiting=0)],
        workers=[Worker(id="two", role="worker", state="alive", busy=0)],
    )


def _faults() -> list[Fault]:
    return [
        Fault(
            kind="kill -9",
            victim="worker-1",
            begin_s=KILLED_S,
            end_s=KILLED_S + 8,
            settled_s=KILLED_S + 10,
            evidence={"gone": True},
        ),
        Fault(
            kind="noise",
            victim="a tenant",
            begin_s=BEGIN_S + 10,
            end_s=BEGIN_S + 19.5,
            settled_s=BEGIN_S + 19.5,
            planned=True,
            evidence={"a backlog": True},
        ),
    ]


def spoilt(evidence: Evidence, **members: Any) -> Evidence:
    return msgspec.structs.replace(evidence, **members)


def with_run(evidence: Evidence, run_id: str, **members: Any) -> Evidence:
    """The same with one run told otherwise."""
    runs = [msgspec.structs.replace(one, **members) if one.id == run_id else one for one in evidence.runs]
    return spoilt(evidence, runs=runs)


def with_hit(evidence: Evidence, run_id: str, **members: Any) -> Evidence:
    """The same with the first hit of a run told otherwise."""
    hits = list(evidence.hits)
    place = next(number for number, hit in enumerate(hits) if hit.run == run_id)
    hits[place] = msgspec.structs.replace(hits[place], **members)
    return spoilt(evidence, hits=hits)
