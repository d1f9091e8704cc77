"""Signing secrets on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection

from dueline.store.postgres.part import Part, queries
from dueline.store.shapes import SigningSecrets

_SQL = queries("secrets")


class SecretPart(Part):
    async def signing_secrets(self, tenants: Collection[str]) -> dict[str, SigningSecrets]:
        rows = await self._database.fetch(_SQL["many"], list(tenants))
        return {row[0]: SigningSecrets(*row[1:]) for row in rows}

    async def rotate_signing_secret(self, tenant: str, secret: str) -> SigningSecrets:
        async with self._lone_effect() as connection:
            (row,) = await connection.fetch(_SQL["rotate"], tenant, secret)
        return SigningSecrets(*row)
