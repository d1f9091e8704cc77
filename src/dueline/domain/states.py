"""The states of jobs and runs, and the one table of legal moves between them.

Nothing else may list states: a set of them has a name here, and a test holds every SQL statement to this table.
"""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    FINISHED = "finished"
    CANCELLED = "cancelled"


class RunState(StrEnum):
    SCHEDULED = "scheduled"
    READY = "ready"
    HELD = "held"
    RUNNING = "running"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class RunKind(StrEnum):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    ADHOC = "adhoc"
    BACKFILL = "backfill"
    REDRIVE = "redrive"


class HeldReason(StrEnum):
    """Why a run waits outside the ready queue."""

    PAUSED = "paused"
    OVERLAP = "overlap"
    CIRCUIT = "circuit_open"
    """Its target fails so often that it is left alone for a while."""
    HOST_BUSY = "host_busy"
    """So many calls to its host are under way that others would go short."""
    CONCURRENCY = "concurrency"
    """As many runs of its job, key, task or host are under way as may be."""
    RATE = "rate"
    """As many have started lately as may."""
    THROTTLED = "throttled"
    """Its tenant has as many under way, or started lately, as it may."""
    ELSEWHERE = "elsewhere"
    """A worker met it that does not have its task, and another has."""


class EndReason(StrEnum):
    """Why a run ended, where its last outcome does not say it."""

    OVERLAP = "overlap"
    MISFIRE = "misfire"
    COALESCED = "coalesced"
    JOB_DELETED = "job_deleted"
    JOB_CANCELLED = "job_cancelled"
    REQUESTED = "requested"
    SUPERSEDED = "superseded"
    """A later run of the job, or of its dedupe key, took its place."""
    RECOVERY = "recovery"
    """Given up when an outage was recovered from."""
    POISON = "poison"
    EXPIRED = "expired"
    """It could not be started in time."""
    RUN_TIMEOUT = "run_timeout"
    """The time for the whole run, with all its attempts, was over."""
    GONE = "gone"
    """The target says that it is gone for good (410), so its job is to be paused."""


TERMINAL = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED, RunState.EXPIRED})
"""Final: a run in one of these has left the hot table and never moves again."""
UNSUCCESSFUL = TERMINAL - {RunState.SUCCEEDED}
LIVE = frozenset(RunState) - TERMINAL
WAITING = frozenset({RunState.SCHEDULED, RunState.RETRYING})
"""Not to be claimed before their due time comes near."""
CANCELLABLE = frozenset({RunState.SCHEDULED, RunState.READY, RunState.HELD, RunState.RETRYING})
"""Nothing of it is running, so a cancel takes effect at once."""

RECLAIMED = frozenset({RunState.READY, RunState.RETRYING, RunState.FAILED, RunState.CANCELLED})
"""Where a run goes whose owner is gone."""

RUN_MOVES: dict[str, tuple[frozenset[RunState], frozenset[RunState]]] = {
    "fire": (frozenset(), frozenset({RunState.READY, RunState.SCHEDULED})),
    "enqueue": (frozenset(), frozenset({RunState.READY, RunState.SCHEDULED})),
    "promote": (WAITING, frozenset({RunState.READY})),
    "claim": (frozenset({RunState.READY}), frozenset({RunState.RUNNING})),
    "confirm": (frozenset({RunState.RUNNING}), frozenset({RunState.RUNNING})),
    "release": (frozenset({RunState.RUNNING}), frozenset({RunState.READY})),
    "finish": (frozenset({RunState.RUNNING}), TERMINAL),
    "retry": (frozenset({RunState.RUNNING}), frozenset({RunState.RETRYING})),
    "reclaim": (frozenset({RunState.RUNNING}), RECLAIMED),
    "hold": (
        frozenset({RunState.READY, RunState.RETRYING, RunState.SCHEDULED, RunState.HELD, RunState.RUNNING}),
        frozenset({RunState.HELD}),
    ),
    "skip": (frozenset({RunState.READY, RunState.RUNNING}), frozenset({RunState.CANCELLED})),
    "free": (frozenset({RunState.HELD}), frozenset({RunState.READY})),
    "cancel": (CANCELLABLE | {RunState.RUNNING}, frozenset({RunState.CANCELLED})),
    "expire": (CANCELLABLE, frozenset({RunState.EXPIRED})),
    "postpone": (frozenset({RunState.RUNNING}), frozenset({RunState.SCHEDULED})),
    "repace": (frozenset({RunState.READY, RunState.SCHEDULED}), frozenset({RunState.SCHEDULED})),
    "reschedule": (
        frozenset({RunState.SCHEDULED, RunState.READY, RunState.HELD, RunState.RUNNING}),
        frozenset({RunState.SCHEDULED, RunState.HELD}),
    ),
    "unplan": (frozenset({RunState.SCHEDULED, RunState.READY, RunState.HELD, RunState.RUNNING}), frozenset()),
}
"""Move → (states it leaves, states it reaches). No source: the move creates the run; no destination: the run was only a plan and
goes without a trace, because its due time had not come. A run that is claimed and not started counts as `running`, so `hold`,
`skip`, `cancel`, `reschedule` and `unplan` may take it."""

JOB_MOVES: dict[str, tuple[frozenset[JobState], frozenset[JobState]]] = {
    "create": (frozenset(), frozenset({JobState.ACTIVE, JobState.PAUSED})),
    "pause": (frozenset({JobState.ACTIVE}), frozenset({JobState.PAUSED})),
    "resume": (frozenset({JobState.PAUSED}), frozenset({JobState.ACTIVE})),
    "cancel": (frozenset({JobState.ACTIVE, JobState.PAUSED}), frozenset({JobState.CANCELLED})),
    "exhaust": (frozenset({JobState.ACTIVE, JobState.PAUSED}), frozenset({JobState.FINISHED})),
    "revive": (frozenset({JobState.FINISHED}), frozenset({JobState.ACTIVE})),
}
"""Nothing leaves `cancelled`."""
