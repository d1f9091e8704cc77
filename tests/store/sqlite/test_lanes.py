"""The store's threads: one writer, readers that never wait for it, and an orderly end."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from threading import Event

import apsw
import pytest

from dueline.domain.changes import JobChange, JobInHand
from dueline.domain.errors import NotFound, StoreUnavailable
from dueline.domain.ids import BootId, JobId
from dueline.runtime.clock import ManualClock
from dueline.store.shapes import RunFilter
from dueline.store.sqlite.session import Session
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import TENANT, a_run, changing, create, enqueue, the_job


class Gate:
    """Keeps the writer inside a change of a job until told otherwise."""

    def __init__(self, store: SqliteStore, job_id: JobId) -> None:
        self._entered = Event()
        self._open = Event()
        self._change = asyncio.create_task(store.change_job(TENANT, job_id, self._decide))

    def _decide(self, hand: JobInHand) -> JobChange:
        self._entered.set()
        assert self._open.wait(10)
        return changing(pause_note="changed")(hand)

    async def entered(self) -> None:
        assert await asyncio.to_thread(self._entered.wait, 10)

    async def open(self) -> None:
        self._open.set()
        await self._change


@pytest.fixture
async def gate(store: SqliteStore) -> Gate:
    gate = Gate(store, (await create(store)).id)
    await gate.entered()
    return gate


async def test_many_writers_at_once_are_all_durable_and_one_that_fails_hurts_nobody(
    store: SqliteStore, path: Path
) -> None:
    runs = [a_run() for _ in range(200)]
    missing = store.change_job(TENANT, JobId(bytes(16)), changing())
    *written, failed = await asyncio.gather(
        *(store.enqueue([run]) for run in runs[:100]),
        *(store.enqueue([run]) for run in runs[100:]),
        missing,
        return_exceptions=True,
    )
    assert written == [{run.id} for run in runs]
    assert isinstance(failed, NotFound)
    connection = apsw.Connection(str(path))
    assert {row[0] for row in connection.execute("SELECT id FROM runs")} == {run.id for run in runs}
    connection.close()


async def test_reads_do_not_wait_for_a_write_and_see_what_is_committed(store: SqliteStore, gate: Gate) -> None:
    async with asyncio.timeout(5):
        page = await store.runs_page(RunFilter(tenant=TENANT), before=None, limit=10)
        shards = await store.shards()
    assert (page, len(shards)) == ([], 256)
    await gate.open()


async def test_what_waits_for_the_writer_is_written_together_and_wakes_once(store: SqliteStore, gate: Gate) -> None:
    woken: list[str] = []
    store.listen(woken.append)
    waiting = [asyncio.create_task(store.enqueue([a_run()])) for _ in range(20)]
    await asyncio.sleep(0)
    await gate.open()
    await asyncio.gather(*waiting)
    assert sorted(woken) == ["plans", "ready/default"]


async def test_what_waits_behind_a_long_move_is_written_all_the_same_and_in_order(
    store: SqliteStore, gate: Gate, clock: ManualClock
) -> None:
    done: list[int] = []

    def take_long(_session: Session, number: int) -> None:
        clock.advance(1)
        done.append(number)

    waiting = [asyncio.create_task(store._database.write(take_long, number)) for number in range(5)]
    await asyncio.sleep(0)
    await gate.open()
    await asyncio.gather(*waiting)
    assert done == list(range(5))


async def test_a_write_whose_caller_gave_up_takes_effect_and_is_seen_by_the_next(
    store: SqliteStore, gate: Gate
) -> None:
    run = a_run()
    given_up = asyncio.create_task(store.enqueue([run]))
    await asyncio.sleep(0)
    given_up.cancel()
    again = asyncio.create_task(store.enqueue([run]))
    await asyncio.sleep(0)
    await gate.open()
    assert await again == set()
    assert given_up.cancelled()
    assert await store.run(TENANT, run.id) is not None


async def test_every_commit_waits_for_the_disk(store: SqliteStore) -> None:
    def settings(session: Session) -> tuple[int, str]:
        return session.value("PRAGMA synchronous"), session.value("PRAGMA journal_mode")

    assert await store._database.write(settings) == (2, "wal")


async def test_a_write_that_changes_nothing_leaves_the_disk_alone(store: SqliteStore, path: Path) -> None:
    log = path.with_name("dueline.db-wal")
    await store.enqueue([a_run()])
    size = log.stat().st_size
    await store.confirm([])
    assert await store.claims_of(BootId("nobody")) == []
    assert log.stat().st_size == size
    await store.enqueue([a_run()])
    assert log.stat().st_size > size


@pytest.mark.parametrize("lane", ["read", "page"])
async def test_readers_cannot_write(store: SqliteStore, lane: str) -> None:
    use: Callable[..., object] = getattr(store._database, lane)

    def write(session: Session) -> None:
        session.rows("DELETE FROM shards")

    with pytest.raises(StoreUnavailable):
        await use(write)  # type: ignore[misc]  # one of two coroutine functions
    assert len(await store.shards()) == 256


async def test_closing_carries_out_what_was_asked_for(path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    await store.open()
    await store.migrate()
    runs = [a_run() for _ in range(50)]
    writing = [asyncio.create_task(store.enqueue([run])) for run in runs]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*writing) == [{run.id} for run in runs]


async def test_a_closed_store_is_unavailable(path: Path, clock: ManualClock) -> None:
    store = SqliteStore(path, clock)
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.queues()
    await store.open()
    await store.close()
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.queues()


async def test_an_error_of_a_decision_reaches_its_caller_and_changes_nothing(store: SqliteStore) -> None:
    job = await create(store)

    def decide(_hand: JobInHand) -> JobChange:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await store.change_job(TENANT, job.id, decide)
    assert await the_job(store, job.id) == job
    await enqueue(store, a_run())
