"""What `dueline doctor` sees in a store itself, beside the processes that use it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from dueline.cli.diagnoses import (
    Backlog,
    Process,
    judge_backlogs,
    judge_dead_letters,
    judge_file,
    judge_processes,
    judge_schedules,
    judge_schema,
    judge_server,
    judge_shards,
    judge_stuck,
)
from dueline.cli.findings import Asked, Finding, error, judge_clock, ok
from dueline.domain import limits
from dueline.domain.errors import DuelineError, SchemaRefused
from dueline.domain.ids import run_text
from dueline.domain.job import DEFAULT_TENANT
from dueline.runtime.clock import Clock
from dueline.store.conditions import FileCondition, LookedAt
from dueline.store.fleet import Node, Role
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, QueueState
from dueline.wire.workers import WorkerState

_LOOKED_AT_MAX = 500


async def check_store(store: LookedAt, clock: Clock) -> AsyncIterator[Finding]:
    """Everything that the store tells. A schema that is not this program's is told, and nothing more is read."""
    try:
        await store.open()
    except DuelineError as failed:
        yield error(
            "store.reachable",
            f"{failed}.",
            "See that the address is right, and that the database is there and lets you in.",
        )
        return
    try:
        async for finding in _of_open(store, clock):
            yield finding
    except DuelineError as failed:
        yield error("store.reachable", f"{failed}.", "See whether the database is well, and its log.")
    finally:
        await store.close()


async def _of_open(store: LookedAt, clock: Clock) -> AsyncIterator[Finding]:
    condition = await store.condition()
    yield ok("store.reachable", "The store answers.")
    for finding in judge_file(condition) if isinstance(condition, FileCondition) else judge_server(condition):
        yield finding
    try:
        schema = judge_schema("store.schema", await store.schema())
    except SchemaRefused as refused:
        schema = error("store.schema", f"{refused}.", "Use the Dueline that this schema is of, or another database.")
    yield schema
    if schema.advice:
        return
    if not isinstance(condition, FileCondition):
        sent_ms = clock.wall_ms()
        told_ms = await store.now_ms()
        yield judge_clock("store.clock", "the store", Asked(sent_ms, clock.wall_ms()).off_by_ms(told_ms))
    async for finding in check_rows(store):
        yield finding


async def check_rows(store: Store) -> AsyncIterator[Finding]:
    """What stands in a store whose schema is this program's."""
    now_ms = await store.now_ms()
    nodes, states = await store.nodes(), await store.queue_states()
    for finding in judge_processes("store.processes", [_process(node, now_ms) for node in nodes]):
        yield finding
    fires = {node.boot_id: node.role is not Role.WORKER and not node.expired for node in nodes}
    yield judge_shards("store.shards", await store.shards(), fires)
    for finding in judge_backlogs("store.queues", [_backlog(state, nodes, now_ms) for state in states]):
        yield finding
    before_ms = now_ms - limits.MISFIRE_GRACE_MS
    first = await store.overdue(tenant=None, before_ms=before_ms, limit=1)
    count = await store.overdue_count(tenant=None, before_ms=before_ms)
    since_s = (now_ms - first[0].due_ms) / 1000 if first else None
    yield judge_schedules("store.schedules", count, since_s)
    strays = await store.strays(grace_ms=limits.TIMEOUT_GRACE_MS, limit=_LOOKED_AT_MAX)
    stuck = [run_text(stray.run_id) for stray in strays]
    yield judge_stuck("store.runs", stuck, more=len(stuck) == _LOOKED_AT_MAX)
    yield judge_dead_letters(
        "store.dead_letters", await store.dead_letter_count(DeadLetterFilter(tenant=DEFAULT_TENANT))
    )


def _process(node: Node, now_ms: int) -> Process:
    silent_ms = max(now_ms - node.beat_ms, 0)
    late = silent_ms > limits.LATE_BEATS * limits.BEAT_S * 1000
    states = ((node.expired, WorkerState.EXPIRED), (node.draining, WorkerState.DRAINING), (late, WorkerState.LATE))
    return Process(
        id=node.boot_id,
        role=node.role,
        state=next((state for holds, state in states if holds), WorkerState.ALIVE),
        place=f"{node.host}:{node.pid}",
        version=node.version,
        silent_s=silent_ms / 1000,
    )


def _backlog(state: QueueState, nodes: Iterable[Node], now_ms: int) -> Backlog:
    return Backlog(
        queue=state.queue,
        ready=state.ready,
        paused=state.paused,
        oldest_age_s=None if state.oldest_ms is None else max(now_ms - state.oldest_ms, 0) / 1000,
        workers=sum(node.takes_runs and state.queue in (node.queues or (state.queue,)) for node in nodes),
    )
