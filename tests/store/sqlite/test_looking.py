"""A file that is looked at while a store has it."""

from pathlib import Path

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import BootId
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import Role
from dueline.store.sqlite.looking import SqliteLookedAt
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import a_run, enqueue, register


def is_there(path: Path) -> bool:
    return path.exists()


async def test_a_look_sees_what_is_committed_and_keeps_nobody_waiting(
    store: SqliteStore, path: Path, clock: ManualClock
) -> None:
    await register(store, "all", role=Role.ALL)
    looked_at = SqliteLookedAt(path, clock)
    await looked_at.open()
    try:
        assert [node.boot_id for node in await looked_at.nodes()] == ["all"]
        await enqueue(store, a_run())
        assert [state.ready for state in await looked_at.queue_states()] == [1]
        condition = await looked_at.condition()
        assert (condition.holder_lives, condition.mode) == (True, 0o600)
    finally:
        await looked_at.close()
    assert [node.boot_id for node in await store.nodes()] == ["all"], "nobody was buried"


async def test_a_look_cannot_write(store: SqliteStore, path: Path, clock: ManualClock) -> None:
    looked_at = SqliteLookedAt(path, clock)
    await looked_at.open()
    try:
        with pytest.raises(StoreUnavailable):
            await looked_at.leave(BootId("w1"))
        with pytest.raises(StoreUnavailable):
            await looked_at.migrate()
    finally:
        await looked_at.close()
    assert (await store.schema())[-1].applied


async def test_a_file_that_is_not_there_is_not_made(path: Path, clock: ManualClock) -> None:
    with pytest.raises(StoreUnavailable, match="no such file"):
        await SqliteLookedAt(path, clock).open()
    assert not is_there(path)
