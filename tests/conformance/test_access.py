"""API keys in every store."""

import asyncio

import pytest

from dueline.domain.access import ApiKey, KeyRole
from dueline.domain.errors import AskedBefore, Conflict
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.requests import RequestKey
from dueline.store.protocol import Store
from dueline.store.requests import IN_HAND, InHand
from tests.support.stores import START_MS, StoreClock


def a_key(
    key_id: str = "k1", tenant: str = "acme", *, role: KeyRole = KeyRole.WRITER, expires_ms: int | None = None
) -> ApiKey:
    return ApiKey(id=key_id, tenant=tenant, role=role, name="deploys", digest=b"\x00d" * 16, expires_ms=expires_ms)


def an_admin(key_id: str, *, expires_ms: int | None = None) -> ApiKey:
    return a_key(key_id, DEFAULT_TENANT, role=KeyRole.ADMIN, expires_ms=expires_ms)


async def test_a_key_is_found_as_it_was_written(store: Store) -> None:
    written = await store.add_api_key(a_key(expires_ms=START_MS + 5))
    assert written == ApiKey(
        id="k1",
        tenant="acme",
        role=KeyRole.WRITER,
        name="deploys",
        digest=b"\x00d" * 16,
        created_ms=START_MS,
        expires_ms=START_MS + 5,
    )
    assert await store.api_key("k1") == written
    assert await store.api_key("k2") is None


async def test_an_id_is_taken_once(store: Store) -> None:
    await store.add_api_key(a_key())
    with pytest.raises(Conflict):
        await store.add_api_key(a_key(tenant="other"))
    found = await store.api_key("k1")
    assert found is not None
    assert found.tenant == "acme"


async def test_a_request_makes_one_key(store: Store) -> None:
    request = RequestKey("acme", "/v1/keys", "once", b"d")
    token = IN_HAND.set(InHand(request))
    try:
        await store.add_api_key(a_key("k1"))
        IN_HAND.set(InHand(request))
        with pytest.raises(AskedBefore):
            await store.add_api_key(a_key("k2"))
    finally:
        IN_HAND.reset(token)
    assert [key.id for key in await store.api_keys_page("acme", after=None, limit=9)] == ["k1"]


async def test_of_many_that_want_to_be_the_first_one_is(store: Store) -> None:
    made = await asyncio.gather(*(store.add_first_api_key(a_key(f"k{number}")) for number in range(8)))
    (first,) = [key for key in made if key is not None]
    assert [key.id for key in await store.api_keys_page("acme", after=None, limit=9)] == [first.id]


async def test_where_there_was_a_key_none_is_the_first(store: Store) -> None:
    await store.add_api_key(a_key())
    await store.revoke_api_key("k1")
    assert await store.add_first_api_key(a_key("k2")) is None


async def test_a_key_is_revoked_once_and_stays(store: Store, clock: StoreClock) -> None:
    await store.add_api_key(a_key())
    await clock.advance(1)
    revoked = await store.revoke_api_key("k1")
    assert revoked is not None
    assert revoked.revoked_ms == START_MS + 1_000
    await clock.advance(1)
    assert await store.revoke_api_key("k1") == revoked == await store.api_key("k1")
    assert await store.revoke_api_key("k2") is None


async def test_the_last_admin_of_the_tenant_that_governs_stays(store: Store, clock: StoreClock) -> None:
    for key_id in ("k1", "k2", "k3"):
        await store.add_api_key(an_admin(key_id))
    await store.add_api_key(an_admin("soon", expires_ms=START_MS + 1_000))
    await store.add_api_key(a_key("writer", tenant=DEFAULT_TENANT))
    await store.add_api_key(a_key("elsewhere", role=KeyRole.ADMIN))
    await clock.advance(2)
    asked = await asyncio.gather(*(store.revoke_api_key(f"k{n}") for n in (1, 2, 3)), return_exceptions=True)
    (refused,) = [error for error in asked if isinstance(error, Exception)]
    assert isinstance(refused, Conflict)
    assert "dueline db key" in str(refused)
    (left,) = [n for n, answer in enumerate(asked, 1) if answer is refused]
    for other in ("soon", "writer", "elsewhere"):
        assert (await store.revoke_api_key(other)) is not None
    with pytest.raises(Conflict):
        await store.revoke_api_key(f"k{left}")
    await store.add_api_key(an_admin("k4"))
    revoked = await store.revoke_api_key(f"k{left}")
    assert revoked is not None
    assert await store.revoke_api_key(f"k{left}") == revoked


async def test_pages_are_of_one_tenant_by_id(store: Store) -> None:
    for key_id, tenant in (("c", "acme"), ("a", "acme"), ("b", "other"), ("B", "acme")):
        await store.add_api_key(a_key(key_id, tenant))

    async def page(after: str | None, limit: int = 2) -> list[str]:
        return [key.id for key in await store.api_keys_page("acme", after=after, limit=limit)]

    assert (await page(None), await page("a"), await page("c")) == (["B", "a"], ["c"], [])
