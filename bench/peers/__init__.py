"""Rivals, each in its best documented configuration. What was tried, and why it is this, is in docs/internals/performance.md."""

from __future__ import annotations

from bench.peers.environments import NodeEnvironment, PythonEnvironment
from bench.peers.on_files import CeleryPeer, HueyPeer
from bench.peers.on_postgres import PostgresPeer
from bench.peers.peer import Peer

ON_POSTGRES: dict[str, PostgresPeer] = {
    peer.name: peer
    for peer in (
        PostgresPeer(
            "graphile-worker",
            NodeEnvironment("graphile-worker", "pg"),
            program="graphile_jobs.mjs",
            processes=2,
            lock="LOCK TABLE graphile_worker._private_jobs IN EXCLUSIVE MODE",
            unfinished="SELECT EXISTS (SELECT FROM graphile_worker._private_jobs)",
            far="""
                WITH task AS (
                    INSERT INTO graphile_worker._private_tasks (identifier) VALUES ('count')
                    ON CONFLICT (identifier) DO UPDATE SET identifier = EXCLUDED.identifier RETURNING id
                )
                INSERT INTO graphile_worker._private_jobs (task_id, payload, run_at)
                SELECT task.id, '{}', now() + interval '1 year' + number * interval '1 ms'
                FROM task, generate_series(1, $1::int) AS number
            """,
            in_bursts={"poll_ms": 50},
            connections=10,
            concurrent_jobs=24,
            local_queue=2000,
            poll_ms=2000,
        ),
        PostgresPeer(
            "pg-boss",
            NodeEnvironment("pg-boss", "pg"),
            program="pgboss_jobs.mjs",
            processes=1,
            lock="LOCK TABLE pgboss.job IN EXCLUSIVE MODE",
            unfinished="SELECT EXISTS (SELECT FROM pgboss.job WHERE name = 'count' AND state < 'completed')",
            far="""
                INSERT INTO pgboss.job (name, start_after)
                SELECT 'count', now() + interval '1 year' + number * interval '1 ms'
                FROM generate_series(1, $1::int) AS number
            """,
            connections=10,
            workers=2,
            batch_size=4000,
            poll_s=0.5,
            priority=False,
        ),
        PostgresPeer(
            "pgqueuer",
            PythonEnvironment("pgqueuer", "pgqueuer", "asyncpg", "uvloop"),
            program="pgqueuer_jobs.py",
            processes=2,
            lock="LOCK TABLE pgqueuer IN EXCLUSIVE MODE",
            unfinished="SELECT EXISTS (SELECT FROM pgqueuer)",
            far="""
                INSERT INTO pgqueuer (priority, entrypoint, payload, execute_after, status)
                SELECT 0, 'count', NULL, now() + interval '1 year' + number * interval '1 ms', 'queued'
                FROM generate_series(1, $1::int) AS number
            """,
            connections=2,
            batch_size=1000,
        ),
        PostgresPeer(
            "procrastinate",
            PythonEnvironment("procrastinate", "procrastinate", "psycopg"),
            program="procrastinate_jobs.py",
            processes=2,
            drains_at_most=3_000,
            lock="LOCK TABLE procrastinate_jobs IN EXCLUSIVE MODE",
            unfinished="SELECT EXISTS (SELECT FROM procrastinate_jobs WHERE status <> 'succeeded')",
            far="""
                INSERT INTO procrastinate_jobs (queue_name, task_name, priority, args, scheduled_at)
                SELECT 'bench', 'count', 0, '{}', now() + interval '1 year' + number * interval '1 ms'
                FROM generate_series(1, $1::int) AS number
            """,
            connections=4,
            concurrency=4,
            poll_s=0.1,
            delete_jobs="never",
        ),
    )
}
HUEY = HueyPeer(
    "huey",
    PythonEnvironment("huey", "huey"),
    program="huey_jobs.py",
    processes=1,
    drains_at_most=10_000,
    workers=1,
    worker_type="thread",
)
CELERY = CeleryPeer(
    "celery",
    PythonEnvironment("celery", "celery", "kombu", "redis"),
    program="celery_jobs.py",
    processes=2,
    drains_at_most=5_000,
    pool="solo",
    concurrency=1,
    prefetch=100,
)
_ALL: tuple[Peer, ...] = (*ON_POSTGRES.values(), HUEY, CELERY)


def versions() -> dict[str, str]:
    """Of all peers that were asked whether they are there, and of what they stand on."""
    return {what: version for peer in _ALL if peer.was_asked for what, version in peer.versions.items()}


def absent() -> dict[str, str]:
    """Those that were asked and are not there, or failed in something, and why."""
    found = {peer.name: peer.absent for peer in _ALL if peer.was_asked and peer.absent is not None}
    for peer in _ALL:
        found |= {f"{peer.name} in {what}": reason for what, reason in peer.failed.items()}
    return found
