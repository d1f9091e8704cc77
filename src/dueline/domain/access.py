"""Who may call, and what for: API keys, and the roles that they have.

A key is `dueline_`, its public id, `_`, its secret and a checksum. What is kept of it is a digest: the secret is drawn at random, so nobody
finds it by trying, and no slow digest has to protect it. The checksum tells a key that was mistyped from one that is unknown, and lets
programs that look for leaked secrets know one when they see it.
"""

from __future__ import annotations

import re
from base64 import b32encode
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from zlib import crc32

import msgspec

from dueline.domain.errors import DuelineError
from dueline.domain.job import DEFAULT_TENANT

ENTROPY_BYTES = 40
"""What a key is made of: the first ten become its id, the others its secret."""
_ID_BYTES = 10
_PREFIX = "dueline_"
_KEY = re.compile(r"dueline_([a-z2-7]{16})_[a-z2-7]{48}([0-9a-f]{8})")
_GIVEN_ID = "given-"
"""How the ids of keys begin that people thought of."""
GIVEN_KEY = re.compile(r"[!-~]{8,200}")


class KeyRole(StrEnum):
    """What somebody with a key may do. Each may do what those before it may."""

    READER = "reader"
    """See everything of the tenant but its secrets and keys."""
    WRITER = "writer"
    """Make, change and delete jobs and runs."""
    OPERATOR = "operator"
    """Bring back what failed, fill in what was missed; in the tenant that governs: pause queues, set limits, work as a worker."""
    ADMIN = "admin"
    """Make and revoke keys and secrets; in the tenant that governs: set what tenants may."""

    def covers(self, needed: KeyRole) -> bool:
        order = list(KeyRole)
        return order.index(self) >= order.index(needed)


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key, as far as it is kept."""

    id: str
    tenant: str
    role: KeyRole
    name: str
    """What people know it by."""
    digest: bytes
    created_ms: int = 0
    expires_ms: int | None = None
    revoked_ms: int | None = None

    def is_of(self, text: str) -> bool:
        """Whether a key that somebody shows is this one. It takes as long whatever they show."""
        return compare_digest(self.digest, digest_of(text))


class Caller(msgspec.Struct, frozen=True):
    """Who sent a request, as their key says."""

    key: ApiKey

    @property
    def tenant(self) -> str:
        return self.key.tenant

    @property
    def governs(self) -> bool:
        """Whether its tenant is the one that looks after what all share: queues, limits, workers, tenants."""
        return self.tenant == DEFAULT_TENANT


class KeyRefused(DuelineError):
    """No key, or none that is known, or one whose time is over. Why is for the log: who shows it learns no more than that."""


def make_key(entropy: bytes) -> str:
    """A new key."""
    key_id, secret = _letters(entropy[:_ID_BYTES]), _letters(entropy[_ID_BYTES:])
    text = f"{_PREFIX}{key_id}_{secret}"
    return f"{text}{crc32(text.encode()):08x}"


def id_of(text: str) -> str:
    """The id of a key that somebody shows. One that is not of our making, and so without an id, has one that follows from it. Raises
    KeyRefused if it was mistyped."""
    if not text.startswith(_PREFIX):
        return _GIVEN_ID + sha256(b"id of " + text.encode()).hexdigest()[:16]
    found = _KEY.fullmatch(text)
    if found is None or crc32(text[:-8].encode()) != int(found[2], 16):
        raise KeyRefused("mistyped")
    return found[1]


def digest_of(text: str) -> bytes:
    return sha256(text.encode()).digest()


def _letters(raw: bytes) -> str:
    return b32encode(raw).decode().lower().rstrip("=")
