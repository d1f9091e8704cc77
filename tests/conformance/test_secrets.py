"""What tenants sign with: one secret at a time, and the one before it."""

from dueline.store.protocol import Store
from dueline.store.shapes import SigningSecrets
from tests.support.stores import START_MS, StoreClock


async def test_a_tenant_without_a_secret_is_left_out(store: Store) -> None:
    await store.rotate_signing_secret("acme", "a1")
    assert set(await store.signing_secrets(["acme", "other"])) == {"acme"}
    assert await store.signing_secrets([]) == {}


async def test_a_first_secret_has_none_before_it(store: Store) -> None:
    first = SigningSecrets("a1", None, START_MS)
    assert await store.rotate_signing_secret("acme", "a1") == first
    assert await store.signing_secrets(["acme"]) == {"acme": first}


async def test_the_one_before_becomes_the_previous_one(store: Store, clock: StoreClock) -> None:
    await store.rotate_signing_secret("acme", "a1")
    await clock.advance(1)
    assert await store.rotate_signing_secret("acme", "a2") == SigningSecrets("a2", "a1", START_MS + 1_000)
    await clock.advance(1)
    third = SigningSecrets("a3", "a2", START_MS + 2_000)
    assert await store.rotate_signing_secret("acme", "a3") == third
    assert await store.signing_secrets(["acme"]) == {"acme": third}


async def test_a_rotation_whose_answer_was_lost_can_be_repeated(store: Store) -> None:
    await store.rotate_signing_secret("acme", "a1")
    await store.rotate_signing_secret("acme", "a2")
    repeated = await store.rotate_signing_secret("acme", "a2")
    assert (repeated.current, repeated.previous) == ("a2", "a1")


async def test_tenants_have_secrets_of_their_own(store: Store) -> None:
    for tenant in ("acme", "other"):
        await store.rotate_signing_secret(tenant, f"{tenant}-1")
    await store.rotate_signing_secret("acme", "acme-2")
    assert await store.signing_secrets(["acme", "other", "acme"]) == {
        "acme": SigningSecrets("acme-2", "acme-1", START_MS),
        "other": SigningSecrets("other-1", None, START_MS),
    }
