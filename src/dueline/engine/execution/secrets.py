"""The keys that calls are signed with, from the store: kept in memory, and read again every few seconds while they are used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.signing import is_previous_used, read_secret
from dueline.runtime.clock import Clock
from dueline.runtime.log import get_log
from dueline.store.protocol import SecretStore
from dueline.store.shapes import SigningSecrets

log = get_log(__name__)

Keys = tuple[bytes, ...]


class KeysOf(Protocol):
    """What calls of some tenants are signed with; a tenant without a secret is left out. With `spare_s` it is fresh for so much longer."""

    async def __call__(
        self, tenants: Collection[str], /, *, now_ms: int, spare_s: float = 0.0
    ) -> Mapping[str, Keys]: ...


async def unsigned(_tenants: Collection[str], /, *, now_ms: int, spare_s: float = 0.0) -> Mapping[str, Keys]:
    """Nobody has a secret."""
    del now_ms, spare_s
    return {}


class _Known(msgspec.Struct, frozen=True):
    """What was read of a tenant; no keys: it has no secret."""

    read_s: float
    current: Keys = ()
    previous: Keys = ()
    rotated_ms: int = 0


class Secrets:
    """No call goes out unsigned because its tenant's secret was not read yet, nor with one that is older than `SECRETS_FRESH_S`."""

    def __init__(self, store: SecretStore, clock: Clock, *, kept: int = limits.SECRETS_KEPT) -> None:
        self._store = store
        self._clock = clock
        self._kept = kept
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def keys_of(self, tenants: Collection[str], /, *, now_ms: int, spare_s: float = 0.0) -> dict[str, Keys]:
        """What to sign with for each of some tenants that have a secret, the current key first; from memory or in one read."""
        now_s = self._clock.monotonic_s()
        known = self._known
        wanted = [
            tenant
            for tenant in tenants
            if (entry := known.get(tenant)) is None or now_s + spare_s - entry.read_s > limits.SECRETS_FRESH_S
        ]
        if wanted:
            found = await self._store.signing_secrets(wanted)
            for tenant in wanted:
                known[tenant] = _read(tenant, found.get(tenant), read_s=now_s)
                known.move_to_end(tenant)
        keys = {tenant: _keys(known[tenant], now_ms=now_ms) for tenant in tenants}
        while len(known) > self._kept:
            known.popitem(last=False)
        return {tenant: held for tenant, held in keys.items() if held}


def _keys(entry: _Known, *, now_ms: int) -> Keys:
    if entry.previous and is_previous_used(entry.rotated_ms, now_ms=now_ms):
        return entry.current + entry.previous
    return entry.current


def _read(tenant: str, secrets: SigningSecrets | None, *, read_s: float) -> _Known:
    if secrets is None:
        return _Known(read_s)
    previous = () if secrets.previous is None else _key(tenant, secrets.previous)
    return _Known(read_s, _key(tenant, secrets.current), previous, secrets.rotated_ms)


def _key(tenant: str, secret: str) -> Keys:
    try:
        return (read_secret(secret),)
    except Invalid:
        # Its receivers refuse the calls; the other tenants must not suffer for it.
        log.error("signing secret unreadable", tenant=tenant)
        return ()
