"""What a process knows of keys, and for how long."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from dueline.domain import limits
from dueline.domain.access import KeyRefused, KeyRole
from dueline.domain.errors import NotFound, StoreUnavailable
from dueline.engine.keyring import Keyring
from dueline.engine.timekeeping import Timekeeper
from dueline.runtime.chance import SystemChance
from dueline.runtime.clock import ManualClock
from dueline.store.sqlite.store import SqliteStore


class Asked(SqliteStore):
    """Counts the questions for keys, and is away when told so."""

    asked = 0
    away = False

    async def api_key(self, key_id: str):  # type: ignore[no-untyped-def]
        self.asked += 1
        if self.away:
            raise StoreUnavailable("away")
        return await super().api_key(key_id)


@dataclass
class World:
    clock: ManualClock
    store: Asked
    keyring: Keyring
    elsewhere: Keyring


@pytest.fixture
async def world() -> AsyncIterator[World]:
    clock = ManualClock()
    store = Asked(":memory:", clock, inline=True)
    await store.open()
    await store.migrate()
    keeper = Timekeeper(store, clock)
    await keeper.step()
    here, elsewhere = (Keyring(store, lambda: keeper.time, clock, SystemChance(), kept=3) for _ in range(2))
    yield World(clock, store, here, elsewhere)
    await store.close()


async def test_a_key_opens_what_it_was_made_for(world: World) -> None:
    key, text = await world.keyring.create("acme", KeyRole.WRITER, "deploys", expires_ms=None)
    caller = await world.elsewhere.caller(text)
    assert (caller.key, caller.tenant, caller.governs) == (key, "acme", False)


async def test_what_is_not_a_key_opens_nothing(world: World) -> None:
    _, text = await world.keyring.create("acme", KeyRole.WRITER, "", expires_ms=None)
    _, other = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=None)
    forged = text[: len("dueline_") + 17] + other[len("dueline_") + 17 :]
    for wrong in ("nobody knows this", text[:-1], forged):
        with pytest.raises(KeyRefused):
            await world.keyring.caller(wrong)


async def test_it_is_asked_for_once_in_a_while_however_many_come(world: World) -> None:
    _, text = await world.keyring.create("acme", KeyRole.WRITER, "", expires_ms=None)
    await asyncio.gather(*(world.keyring.caller(text) for _ in range(50)))
    world.clock.advance(limits.API_KEYS_FRESH_S - 0.001)
    await world.keyring.caller(text)
    assert world.store.asked == 1
    world.clock.advance(0.001)
    await world.keyring.caller(text)
    assert world.store.asked == 2


async def test_one_that_is_unknown_is_asked_for_as_seldom(world: World) -> None:
    for _ in range(10):
        with pytest.raises(KeyRefused):
            await world.keyring.caller("nobody knows this")
    assert world.store.asked == 1


async def test_what_was_unknown_is_asked_for_again(world: World) -> None:
    with pytest.raises(KeyRefused):
        await world.elsewhere.caller("open-sesame")
    await world.keyring.create_first("open-sesame")
    world.clock.advance(limits.API_KEYS_FRESH_S)
    await world.elsewhere.caller("open-sesame")


async def test_a_revoked_key_opens_nothing_here_at_once_and_elsewhere_soon(world: World) -> None:
    _, text = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=None)
    caller = await world.elsewhere.caller(text)
    await world.keyring.revoke(caller, caller.key.id)
    with pytest.raises(KeyRefused):
        await world.keyring.caller(text)
    await world.elsewhere.caller(text)
    world.clock.advance(limits.API_KEYS_FRESH_S)
    with pytest.raises(KeyRefused):
        await world.elsewhere.caller(text)
    assert limits.API_KEYS_FRESH_S < 5


async def test_a_key_expires_to_the_millisecond(world: World) -> None:
    ends_ms = await world.store.now_ms() + 1_000
    _, text = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=ends_ms)
    world.clock.advance(0.999)
    await world.keyring.caller(text)
    world.clock.advance(0.001)
    with pytest.raises(KeyRefused):
        await world.keyring.caller(text)


async def test_while_the_store_is_away_a_known_key_does_where_that_is_said(world: World) -> None:
    _, text = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=None)
    await world.keyring.caller(text)
    world.store.away = True
    world.clock.advance(limits.API_KEYS_FRESH_S)
    with pytest.raises(StoreUnavailable):
        await world.keyring.caller(text)
    await world.keyring.caller(text, while_away=True)
    with pytest.raises(StoreUnavailable):
        await world.elsewhere.caller(text, while_away=True)


async def test_what_is_remembered_is_bounded(world: World) -> None:
    _, text = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=None)
    await world.keyring.caller(text)
    for number in range(3):
        with pytest.raises(KeyRefused):
            await world.keyring.caller(f"unknown {number}")
    await world.keyring.caller(text)
    assert world.store.asked == 5


async def test_the_first_key_is_made_once(world: World) -> None:
    text = await world.keyring.create_first(None)
    assert text is not None
    caller = await world.elsewhere.caller(text)
    assert (caller.governs, caller.key.role) == (True, KeyRole.ADMIN)
    assert await world.elsewhere.create_first("open-sesame") is None


async def test_the_first_key_may_be_given(world: World) -> None:
    assert await world.keyring.create_first("open-sesame") == "open-sesame"
    assert (await world.elsewhere.caller("open-sesame")).key.role is KeyRole.ADMIN


async def test_keys_of_others_are_not_there(world: World) -> None:
    key, _ = await world.keyring.create("acme", KeyRole.ADMIN, "", expires_ms=None)
    _, text = await world.keyring.create("other", KeyRole.ADMIN, "", expires_ms=None)
    _, governing = await world.keyring.create("default", KeyRole.ADMIN, "", expires_ms=None)
    other = await world.keyring.caller(text)
    for act in (world.keyring.get, world.keyring.revoke):
        with pytest.raises(NotFound):
            await act(other, key.id)
    assert await world.keyring.get(await world.keyring.caller(governing), key.id) == key
