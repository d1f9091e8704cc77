"""API keys: who shows one, and what becomes of them. What is known of a key is read again every few seconds while it is used."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

import msgspec

from dueline.domain import limits
from dueline.domain.access import ENTROPY_BYTES, ApiKey, Caller, KeyRefused, KeyRole, digest_of, id_of, make_key
from dueline.domain.errors import NotFound, StoreUnavailable
from dueline.domain.job import DEFAULT_TENANT
from dueline.runtime.chance import Chance
from dueline.runtime.clock import Clock, StoreTime
from dueline.store.access import KeyStore

_FIRST_NAME = "first"


class _Known(msgspec.Struct, frozen=True):
    """What was read of a key; None: there is none."""

    read_s: float
    key: ApiKey | None


class Keyring:
    """A key that was revoked is refused by every process within `API_KEYS_FRESH_S`."""

    def __init__(
        self,
        store: KeyStore,
        time: Callable[[], StoreTime],
        clock: Clock,
        chance: Chance,
        *,
        kept: int = limits.API_KEYS_KEPT,
    ) -> None:
        self._store = store
        self._time = time
        self._clock = clock
        self._chance = chance
        self._kept = kept
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._asking: dict[str, asyncio.Task[ApiKey | None]] = {}

    async def caller(self, text: str, *, while_away: bool = False) -> Caller:
        """Whose key it is. Raises KeyRefused, and StoreUnavailable where it is not known. With `while_away` what was known of it last is
        good enough while the store is away."""
        key_id = id_of(text)
        try:
            key = await self._key(key_id)
        except StoreUnavailable:
            known = self._known.get(key_id)
            if known is None or not while_away:
                raise
            key = known.key
        if key is None or not key.is_of(text):
            raise KeyRefused("unknown")
        if key.revoked_ms is not None:
            raise KeyRefused("revoked")
        if key.expires_ms is not None and key.expires_ms <= self._time().now_ms():
            raise KeyRefused("expired")
        return Caller(key)

    async def create(self, tenant: str, role: KeyRole, name: str, *, expires_ms: int | None) -> tuple[ApiKey, str]:
        """A new key, and its text: this is the only time that it is known."""
        text = self._draw()
        key = await self._store.add_api_key(_kept_of(text, tenant, role, name, expires_ms))
        self._known.pop(key.id, None)
        return key, text

    async def create_first(self, given: str | None) -> str | None:
        """The text of the first key, an admin's of the tenant that governs, if there was none: the one that is given, or a new one."""
        text = given or self._draw()
        made = await self._store.add_first_api_key(_kept_of(text, DEFAULT_TENANT, KeyRole.ADMIN, _FIRST_NAME, None))
        return None if made is None else text

    async def page(self, tenant: str, *, after: str | None, limit: int) -> list[ApiKey]:
        return await self._store.api_keys_page(tenant, after=after, limit=limit)

    async def get(self, caller: Caller, key_id: str) -> ApiKey:
        """A key that the caller may see: of its own tenant, or any if it governs."""
        key = await self._store.api_key(key_id)
        if key is None or not (caller.governs or key.tenant == caller.tenant):
            raise NotFound("key", key_id)
        return key

    async def revoke(self, caller: Caller, key_id: str) -> ApiKey:
        """It opens nothing from now on, here at once and elsewhere soon."""
        await self.get(caller, key_id)
        key = await self._store.revoke_api_key(key_id)
        self._known.pop(key_id, None)
        if key is None:
            raise NotFound("key", key_id)
        return key

    def _draw(self) -> str:
        entropy = b""
        while len(entropy) < ENTROPY_BYTES:
            entropy += self._chance.entropy()
        return make_key(entropy[:ENTROPY_BYTES])

    async def _key(self, key_id: str) -> ApiKey | None:
        known = self._known.get(key_id)
        if known is not None and self._clock.monotonic_s() - known.read_s < limits.API_KEYS_FRESH_S:
            return known.key
        # However many come with a key at once, one asks.
        asking = self._asking.get(key_id)
        if asking is None:
            asking = self._asking[key_id] = asyncio.get_running_loop().create_task(self._ask(key_id))
            # All who wait may go away first: that it failed is then nobody's concern.
            asking.add_done_callback(_look_at)
        return await asyncio.shield(asking)

    async def _ask(self, key_id: str) -> ApiKey | None:
        try:
            # Counted from before the question: the answer is no newer than that.
            read_s = self._clock.monotonic_s()
            key = await self._store.api_key(key_id)
        finally:
            del self._asking[key_id]
        self._known[key_id] = _Known(read_s, key)
        self._known.move_to_end(key_id)
        while len(self._known) > self._kept:
            self._known.popitem(last=False)
        return key


def _look_at(asked: asyncio.Task[ApiKey | None]) -> None:
    if not asked.cancelled():
        asked.exception()


def _kept_of(text: str, tenant: str, role: KeyRole, name: str, expires_ms: int | None) -> ApiKey:
    return ApiKey(id=id_of(text), tenant=tenant, role=role, name=name, digest=digest_of(text), expires_ms=expires_ms)
