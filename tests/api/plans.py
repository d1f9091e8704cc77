"""Putting a job's schedule where a test needs it: no scheduler runs beside the API here, so nothing moves by itself."""

from collections.abc import Sequence
from typing import Any

from dueline.domain.changes import JobChange, JobInHand
from dueline.domain.ids import parse_job_id
from dueline.domain.instants import format_instant, parse_instant
from dueline.domain.job import DEFAULT_TENANT, Job
from dueline.domain.ledger import Unfired
from dueline.domain.planning import Position
from tests.api.serving import ServedApi

HOUR_MS = 3_600_000


def now_ms(api: ServedApi) -> int:
    return api.on_store(lambda store: store.now_ms())


def instant(at_ms: int) -> str:
    return format_instant(at_ms)


def ms(text: str) -> int:
    return parse_instant(text, field="test")


def put_at(api: ServedApi, job: Any, next_ms: int | None, *, unfired: Sequence[Unfired] = ()) -> Job:
    """Make an instant the first one that nobody has decided about, and tell what became of others."""

    def decide(hand: JobInHand) -> JobChange:
        return JobChange(
            state=hand.job.state,
            definition=hand.job.definition,
            position=Position(next_ms=next_ms, due_ms=next_ms, runs_left=hand.job.position.runs_left),
            unfired=tuple(unfired),
        )

    return api.on_store(lambda store: store.change_job(DEFAULT_TENANT, parse_job_id(job["id"]), decide))
