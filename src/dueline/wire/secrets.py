"""The secret that calls are signed with, as far as it is told."""

from __future__ import annotations

import msgspec


class SecretView(msgspec.Struct, frozen=True, kw_only=True):
    """Whether there is one, and since when."""

    is_set: bool = msgspec.field(name="set")
    rotated_at: str | None


class NewSecretView(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was just made. It is told this once."""

    secret: str
    rotated_at: str
