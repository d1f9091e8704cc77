"""A file that is being moved lets no run start for a moment; one that was moved takes no write of anybody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dueline.domain.errors import StoreMoved, StoreUnavailable
from dueline.domain.states import RunState
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.copy_source import SqliteSource
from dueline.store.sqlite.store import SqliteStore
from tests.store.copying.sides import copy
from tests.support.stores import a_finish, a_job, a_run, changing, claim, create, enqueue, register, states_of, the_job

LONG_MS = 600_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dueline.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """The store of the process that has the file."""
    store = SqliteStore(path, SystemClock())
    await store.open()
    await store.migrate()
    yield store
    await store.close()


@pytest.fixture
async def source(store: SqliteStore, path: Path) -> AsyncIterator[SqliteSource]:
    assert (await store.schema())[0].applied
    source = SqliteSource(str(path), SystemClock())
    await source.open()
    yield source
    await source.close()


async def test_a_process_that_has_the_file_open_cannot_write_after_the_move(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    worker = await register(store)
    job = await create(store)
    await enqueue(store, a_run(), a_run())
    (one, _) = await claim(store, worker)
    to = str(tmp_path / "target.db")
    await copy(path, to)
    with pytest.raises(StoreMoved, match=to):
        await store.beat(worker, lease_s=8.0)
    with pytest.raises(StoreMoved):
        await register(store, "w2")
    with pytest.raises(StoreMoved):
        await store.enqueue([a_run()])
    with pytest.raises(StoreMoved):
        await store.create_jobs([a_job()])
    with pytest.raises(StoreMoved):
        await store.change_job(job.tenant, job.id, changing(deleted=True))
    with pytest.raises(StoreMoved):
        await store.finish([a_finish(one)])
    assert await the_job(store, job.id) == job, "it can still be read"


async def test_who_opens_it_later_is_told_where_it_went(store: SqliteStore, path: Path, tmp_path: Path) -> None:
    to = str(tmp_path / "target.db")
    await copy(path, to)
    await store.close()
    with pytest.raises(StoreMoved, match=f"moved to {to}"):
        await SqliteStore(path, SystemClock()).open()


async def test_what_was_running_is_found_as_what_a_dead_worker_held(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    worker = await register(store)
    (run_id,) = await enqueue(store, a_run())
    (claimed,) = await claim(store, worker)
    report = await copy(path, str(tmp_path / "target.db"))
    assert report.under_way == 1
    target = SqliteStore(tmp_path / "target.db", SystemClock())
    await target.open()
    try:
        assert await states_of(target, [run_id]) == [RunState.RUNNING]
        (stray,) = await target.strays(grace_ms=0, limit=10)
        assert (stray.run_id, stray.token) == (run_id, claimed.token)
        assert await target.nodes() == []
    finally:
        await target.close()


async def test_no_run_starts_while_starts_are_held_and_others_end(store: SqliteStore, source: SqliteSource) -> None:
    worker = await register(store)
    await enqueue(store, a_run())
    (under_way,) = await claim(store, worker)
    await enqueue(store, a_run())
    assert await source.running() == 1
    await source.hold_starts(LONG_MS)
    with pytest.raises(StoreUnavailable, match="no run starts"):
        await claim(store, worker)
    await store.finish([a_finish(under_way)])
    await enqueue(store, a_run())
    assert await source.running() == 0


async def test_starts_are_held_no_longer_than_was_said(store: SqliteStore, source: SqliteSource) -> None:
    """The copier may be gone by then."""
    worker = await register(store)
    await enqueue(store, a_run())
    await source.hold_starts(-1)
    assert len(await claim(store, worker)) == 1


async def test_a_copy_that_is_given_up_leaves_nothing_behind(store: SqliteStore, source: SqliteSource) -> None:
    def schema() -> list[tuple[str, str]]:
        return source._rows("SELECT type, name FROM sqlite_schema ORDER BY name")

    before = schema()
    await source.track("1", "elsewhere")
    await source.hold_starts(LONG_MS)
    await enqueue(store, a_run())
    assert (await source.standing()).other == "elsewhere"
    assert schema() != before
    await source.forget()
    assert schema() == before
    assert (await source.standing()).other == ""
