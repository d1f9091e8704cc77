"""What tenants sign with, on SQLite."""

from __future__ import annotations

from collections.abc import Collection

from dueline.store.shapes import SigningSecrets
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("secrets")


class SecretPart(Part):
    async def signing_secrets(self, tenants: Collection[str]) -> dict[str, SigningSecrets]:
        return await self._database.read(_signing_secrets, tenants)

    async def rotate_signing_secret(self, tenant: str, secret: str) -> SigningSecrets:
        return await self._effect(b"", _rotate_signing_secret, tenant, secret)


def _signing_secrets(session: Session, tenants: Collection[str]) -> dict[str, SigningSecrets]:
    return {tenant: SigningSecrets(*row) for tenant, *row in session.rows(_SQL["many"], pack(list(tenants)))}


def _rotate_signing_secret(session: Session, tenant: str, secret: str) -> SigningSecrets:
    (row,) = session.rows(_SQL["rotate"], tenant, secret)
    return SigningSecrets(*row)
