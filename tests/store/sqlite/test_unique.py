"""Unique runs in a transaction of SQLite: all of it, or nothing."""

from typing import Any

import pytest

from dueline.domain.uniqueness import UniqueAnswer, UniqueVerdict
from dueline.store.sqlite.store import SqliteStore
from tests.conformance.test_unique import REPLACE, ask, unique, written
from tests.conformance.test_unique_at_once import live


async def test_a_call_that_breaks_off_half_way_leaves_nothing(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new runs are written, and the one that is replaced cannot be ended."""
    first = await written(store, key="other")

    def broken(*_args: Any) -> None:
        raise RuntimeError("on purpose")

    with monkeypatch.context() as patched:
        patched.setattr("dueline.store.sqlite.uniques.end_unstarted", broken)
        with pytest.raises(RuntimeError, match="on purpose"):
            await ask(store, unique(key="free"), unique(key="other", on_conflict=REPLACE))
    assert await live(store) == [first]
    assert await ask(store, unique(key="other")) == [UniqueAnswer(first, UniqueVerdict.REJECTED)]
    await written(store, key="free")
