"""How what was seen of a server or a store is judged. Pure: whoever looks passes what they saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from dueline import __version__
from dueline.cli.findings import Finding, error, ok, plural, size, span, warning
from dueline.domain import limits
from dueline.domain.ids import BootId
from dueline.store.conditions import FileCondition, ServerCondition
from dueline.store.fleet import Role, ShardLease
from dueline.store.shapes import MigrationState
from dueline.wire.workers import WorkerState

LAG_S_WARNING = 60.0
"""What waits for so long although it is due is late by any measure."""
FREE_SHARE_WARNING, FREE_SHARE_ERROR = 0.10, 0.02
SNAPSHOT_S_WARNING = 300.0
"""What changed in that time cannot be cleared away, and every look at the front of a queue steps over it."""
CONNECTIONS_SHARE_WARNING = 0.8
_NAMED_MAX = 3


class Process(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    role: str
    state: str
    place: str
    """Host and process id."""
    version: str
    silent_s: float

    @property
    def fires(self) -> bool:
        return self.role != Role.WORKER and self.state != WorkerState.EXPIRED

    @property
    def executes(self) -> bool:
        return self.role != Role.SCHEDULER and self.state in (WorkerState.ALIVE, WorkerState.LATE)


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """A queue, what waits in it, and how many workers serve it."""

    queue: str
    ready: int
    paused: bool
    oldest_age_s: float | None
    workers: int


def judge_processes(check: str, processes: Sequence[Process]) -> Iterator[Finding]:
    if not any(process.fires for process in processes):
        yield error(
            check,
            "No process fires schedules: nothing that is due is started.",
            "Start dueline serve or dueline scheduler.",
        )
    if not any(process.executes for process in processes):
        yield error(
            check, "No process executes runs: what is ready stays so.", "Start dueline serve or dueline worker."
        )
    for state, meaning, advice in (
        (
            WorkerState.EXPIRED,
            "not heard of for longer than a lease",
            "They are dead, stopped or cut off: see to them.",
        ),
        (WorkerState.LATE, "late with their heartbeats", "Their machines are busy, or the way to the store is slow."),
    ):
        found = [process for process in processes if process.state == state]
        if found:
            places = _named([f"{process.place} ({span(process.silent_s)})" for process in found])
            yield warning(check, f"{len(found)} of {len(processes)} processes are {meaning}: {places}.", advice)
    versions = sorted({process.version for process in processes if process.state != WorkerState.EXPIRED})
    if versions and versions != [__version__]:
        told = f"Processes run {', '.join(versions)}, and this command is of {__version__}."
        yield warning(check, told, "Have one version everywhere, once an upgrade is through.")
    if processes and all(process.state in (WorkerState.ALIVE, WorkerState.DRAINING) for process in processes):
        yield ok(
            check,
            f"All {len(processes)} processes are heard of." if len(processes) > 1 else "The one process is heard of.",
        )


def judge_backlogs(check: str, backlogs: Sequence[Backlog]) -> Iterator[Finding]:
    troubles = [finding for backlog in backlogs for finding in _of_backlog(check, backlog)]
    yield from troubles or [ok(check, "Nothing that is ready has waited for long.")]


def judge_schedules(check: str, overdue: int, since_s: float | None) -> Finding:
    if not overdue:
        return ok(check, "No schedule is overdue.")
    since = "" if since_s is None else f", the first for {span(since_s)}"
    return error(
        check,
        f"{plural(overdue, 'job')} should have fired and did not{since}.",
        "See that a process fires schedules; dueline recovery plan shows what becomes of what was missed.",
    )


def judge_stuck(check: str, stuck: Sequence[str], *, more: bool) -> Finding:
    if not stuck:
        return ok(check, "No run was seen under way without a worker that is known.")
    count = f"{plural(len(stuck), 'run')}{' or more' if more else ''}"
    return warning(
        check,
        f"{count} under way without a worker that is known, or past the time: {_named(stuck)}.",
        "Processes that fire take such runs back within seconds. If they stay, no such process does its work.",
    )


def judge_dead_letters(check: str, count: int, *, more: bool = False) -> Finding:
    if not count:
        return ok(check, "There are no dead letters.")
    told = f"{plural(count, 'dead letter')}{' or more' if more else ''}: runs that failed for good and nobody has dealt with."
    return warning(check, told, "dueline deadletter list shows them; redrive or purge them.")


def judge_schema(check: str, migrations: Sequence[MigrationState]) -> Finding:
    missing = [migration.version for migration in migrations if not migration.applied]
    if not missing:
        return ok(check, f"The schema is at version {migrations[-1].version}, as this program has it.")
    return error(
        check,
        f"The schema lacks {plural(len(missing), 'migration')}, from version {missing[0]} on.",
        "Servers bring it up to date when they start; dueline db migrate does so beforehand.",
    )


def judge_shards(check: str, shards: Sequence[ShardLease], fires: Mapping[BootId, bool]) -> Finding:
    """`fires` has every process that is registered, and whether it fires."""
    orphans = [lease for lease in shards if lease.owner is None or not fires.get(lease.owner, False)]
    if not orphans:
        owners = len({lease.owner for lease in shards})
        return ok(
            check,
            f"All {len(shards)} shards have an owner; there are {owners}."
            if owners > 1
            else f"All {len(shards)} shards have one owner.",
        )
    gone = {lease.owner for lease in orphans if lease.owner is not None}
    why = f", {len(gone)} of their owners gone or silent" if gone else ""
    return error(
        check,
        f"{len(orphans)} of {len(shards)} shards have no owner that lives{why}: schedules in them do not fire.",
        f"Start dueline serve or dueline scheduler. Within {limits.LEASE_S + 2:g} s a living one takes them over.",
    )


def judge_file(condition: FileCondition) -> Iterator[Finding]:
    holder = condition.holder
    if holder is None:
        yield warning("store.file", f"No process has {condition.path}.", "Start dueline serve, if it should run.")
    elif not condition.holder_lives:
        yield warning(
            "store.file",
            f"Process {holder} had {condition.path} and ended without letting go: it was killed, or the machine went down.",
            "Start dueline serve: nothing that it told is lost.",
        )
    else:
        yield ok("store.file", f"Process {holder} has {condition.path} ({size(condition.size_bytes)}).")
    if condition.mode & 0o077:
        yield warning(
            "store.file",
            f"Others on this machine can get at {condition.path}, which holds payloads and secrets (mode {condition.mode:04o}).",
            f"chmod 600 {condition.path}",
        )
    yield _judge_disk(condition)


def judge_server(condition: ServerCondition) -> Iterator[Finding]:
    wrong = [name for name, value in condition.settings.items() if value == "off"]
    if wrong:
        yield error(
            "store.settings",
            f"PostgreSQL {condition.version} has {', '.join(wrong)} off: what was told to be written may be gone after a crash.",
            "Set to on: " + ", ".join(wrong) + ".",
        )
    else:
        yield ok("store.settings", f"PostgreSQL {condition.version} keeps what it says ({size(condition.size_bytes)}).")
    snapshot = condition.oldest_snapshot
    if snapshot is not None and snapshot.age_s >= SNAPSHOT_S_WARNING:
        yield warning(
            "store.snapshots",
            f"{snapshot.holder} has held a snapshot for {span(snapshot.age_s)}: nothing that ended since can be cleared away.",
            "End that transaction, and give its program an idle_in_transaction_session_timeout.",
        )
    else:
        yield ok("store.snapshots", "Nobody holds a snapshot for long.")
    used = f"{condition.connections} of {condition.connections_max} connections are in use"
    if condition.connections >= CONNECTIONS_SHARE_WARNING * condition.connections_max:
        yield warning(
            "store.connections", f"{used}.", "Raise max_connections, or put a pooler in front of other programs."
        )
    else:
        yield ok("store.connections", f"{used}.")


def _judge_disk(condition: FileCondition) -> Finding:
    share = condition.free_bytes / condition.disk_bytes if condition.disk_bytes else 0.0
    told = f"{size(condition.free_bytes)} ({share:.0%}) are left on the disk of {condition.path}."
    if share < FREE_SHARE_WARNING:
        advice = "Make room, or let history_days or retention_days keep less: a full disk takes no more jobs."
        return (error if share < FREE_SHARE_ERROR else warning)("store.disk", told, advice)
    return ok("store.disk", told)


def _of_backlog(check: str, backlog: Backlog) -> Iterator[Finding]:
    ready = f"{plural(backlog.ready, 'run')} ready in the queue {backlog.queue}"
    age = f", the oldest for {span(backlog.oldest_age_s)}" if backlog.oldest_age_s else ""
    if not backlog.ready:
        return
    if backlog.paused:
        yield warning(
            check, f"{ready}{age}, which is paused.", f"dueline queue resume {backlog.queue}, when it may go on."
        )
    elif not backlog.workers:
        yield error(check, f"{ready}{age}, which no worker serves.", f"Start dueline worker --queues {backlog.queue}.")
    elif (backlog.oldest_age_s or 0) >= LAG_S_WARNING:
        yield warning(
            check,
            f"{ready}{age}.",
            "Start more workers, or give them more slots; dueline run why tells what one waits for.",
        )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(names[:_NAMED_MAX]) + more
