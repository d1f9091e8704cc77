"""Receivers on each driver in turn."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from dueline.inbox import Inbox
from dueline.runtime.clock import ManualClock
from tests.inbox.deliveries import NOW_MS
from tests.inbox.parties import PARTIES, Party, Sqlite

Join = Callable[[], Awaitable[Party]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS)


@pytest.fixture(params=PARTIES, ids=lambda kind: kind.__name__)
async def join(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncIterator[Join]:
    """Opens one more connection to the same database, which has the tables: the inbox, and `effects` of the receiver's own."""
    kind: type[Party] = request.param
    where = str(tmp_path / "shop.db") if kind is Sqlite else request.getfixturevalue("postgres_dsn")
    inbox = Inbox(clock=clock)
    joined: list[Party] = []

    async def join() -> Party:
        party = kind(inbox)
        await party.open(where)
        joined.append(party)
        return party

    maker = await join()
    await maker.begin()
    await maker.execute(inbox.schema)
    await maker.execute("CREATE TABLE effects (what text)")
    await maker.commit()
    yield join
    for party in joined:
        await party.close()
