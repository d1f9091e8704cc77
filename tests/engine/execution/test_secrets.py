"""Signing keys in a worker's memory."""

from collections.abc import Collection

import pytest
from structlog.testing import capture_logs

from dueline.domain import limits
from dueline.domain.errors import StoreUnavailable
from dueline.domain.signing import new_secret
from dueline.engine.execution.secrets import Secrets, unsigned
from dueline.runtime.clock import ManualClock
from dueline.store.shapes import SigningSecrets

NOW_MS = 1_767_225_600_000
ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))


class FakeStore:
    def __init__(self) -> None:
        self.secrets: dict[str, SigningSecrets] = {}
        self.asked: list[list[str]] = []
        self.away = False

    async def signing_secrets(self, tenants: Collection[str]) -> dict[str, SigningSecrets]:
        if self.away:
            raise StoreUnavailable("away")
        self.asked.append(sorted(tenants))
        return {tenant: self.secrets[tenant] for tenant in tenants if tenant in self.secrets}

    async def rotate_signing_secret(self, tenant: str, secret: str) -> SigningSecrets:
        before = self.secrets.get(tenant)
        self.secrets[tenant] = SigningSecrets(secret, before.current if before else None, NOW_MS)
        return self.secrets[tenant]


class Desk:
    def __init__(self, *, kept: int = 100) -> None:
        self.store = FakeStore()
        self.clock = ManualClock(NOW_MS)
        self.secrets = Secrets(self.store, self.clock, kept=kept)

    async def keys(self, *tenants: str) -> dict[str, tuple[bytes, ...]]:
        return await self.secrets.keys_of(set(tenants), now_ms=self.clock.wall_ms())


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_keys_are_read_once_and_then_come_from_memory(desk: Desk) -> None:
    await desk.store.rotate_signing_secret("a", new_secret(ONE))
    for _ in range(3):
        assert await desk.keys("a", "b") == {"a": (ONE,)}
    assert desk.store.asked == [["a", "b"]]


async def test_a_rotation_is_seen_within_seconds_and_both_keys_sign_for_a_day(desk: Desk) -> None:
    await desk.store.rotate_signing_secret("a", new_secret(ONE))
    assert await desk.keys("a") == {"a": (ONE,)}
    await desk.store.rotate_signing_secret("a", new_secret(TWO))
    desk.clock.advance(limits.SECRETS_FRESH_S + 0.1)
    assert await desk.keys("a") == {"a": (TWO, ONE)}
    desk.clock.advance(limits.SECRET_OVERLAP_MS / 1000)
    assert await desk.keys("a") == {"a": (TWO,)}


async def test_a_first_secret_is_seen_within_seconds(desk: Desk) -> None:
    assert await desk.keys("a") == {}
    await desk.store.rotate_signing_secret("a", new_secret(ONE))
    desk.clock.advance(limits.SECRETS_FRESH_S + 0.1)
    assert await desk.keys("a") == {"a": (ONE,)}


async def test_nothing_is_sent_unsigned_because_the_store_is_away(desk: Desk) -> None:
    desk.store.away = True
    with pytest.raises(StoreUnavailable):
        await desk.keys("a")


async def test_only_so_many_are_kept() -> None:
    small = Desk(kept=2)
    for tenant in "abc":
        await small.store.rotate_signing_secret(tenant, new_secret(ONE))
    assert (await small.keys("a", "b", "c")).keys() == {"a", "b", "c"}
    assert len(small.secrets._known) == 2


async def test_an_unreadable_secret_is_told_and_harms_nobody_else(desk: Desk) -> None:
    desk.store.secrets = {
        "a": SigningSecrets("nonsense", None, NOW_MS),
        "b": SigningSecrets(new_secret(TWO), None, NOW_MS),
    }
    with capture_logs() as logs:
        assert await desk.keys("a", "b") == {"b": (TWO,)}
    assert [(log["event"], log["tenant"]) for log in logs] == [("signing secret unreadable", "a")]
    assert "nonsense" not in str(logs)


async def test_without_a_store_nobody_has_a_secret() -> None:
    assert await unsigned(["a"], now_ms=NOW_MS) == {}
