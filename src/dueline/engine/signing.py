"""The secret that a tenant's calls are signed with: made here, shown once, and kept for the workers."""

from __future__ import annotations

from dueline.domain.signing import new_secret
from dueline.runtime.chance import Chance
from dueline.store.protocol import SecretStore
from dueline.store.shapes import SigningSecrets

_DRAWS = 4
"""Random bytes come ten at a time; forty are more than any attacker can try, and fewer than Standard Webhooks allows at most."""


class SigningDesk:
    def __init__(self, store: SecretStore, chance: Chance) -> None:
        self._store = store
        self._chance = chance

    async def rotated_ms(self, tenant: str) -> int | None:
        """When a tenant's secret was made; None: it has none, and its calls are not signed."""
        secrets = (await self._store.signing_secrets([tenant])).get(tenant)
        return None if secrets is None else secrets.rotated_ms

    async def rotate(self, tenant: str) -> SigningSecrets:
        """Sign with a new secret from now on, and for a while with the one before as well."""
        secret = new_secret(self._chance.entropy(_DRAWS))
        return await self._store.rotate_signing_secret(tenant, secret)
