"""Signatures of outgoing calls, as Standard Webhooks has them: HMAC-SHA256 over id, timestamp and body."""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterable

from dueline.domain import limits
from dueline.domain.errors import Invalid

_PREFIX = "whsec_"


def new_secret(entropy: bytes) -> str:
    """The text of a secret, from as many random bytes as a secret may have."""
    return _PREFIX + b64encode(entropy).decode()


def read_secret(secret: str, *, field: str = "secret") -> bytes:
    """The key in a secret's text."""
    try:
        key = b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (Error, ValueError):
        key = b""
    least, most = limits.SECRET_BYTES_MIN, limits.SECRET_BYTES_MAX
    if not secret.startswith(_PREFIX) or not least <= len(key) <= most:
        raise Invalid((field, f"must be {_PREFIX} and the base64 of {least} to {most} bytes"))
    return key


def is_previous_used(rotated_ms: int, *, now_ms: int) -> bool:
    """Whether calls are still signed with the secret from before a rotation as well."""
    return now_ms < rotated_ms + limits.SECRET_OVERLAP_MS


def sign(keys: Iterable[bytes], *, message_id: str, timestamp_s: int, body: bytes) -> str:
    """The value of `webhook-signature`: one signature for each key, with spaces between them. A receiver needs one of the keys."""
    signed = b"%b.%d.%b" % (message_id.encode(), timestamp_s, body)
    return " ".join(["v1," + b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys])


def is_signed(keys: Iterable[bytes], *, message_id: str, timestamp_s: int, body: bytes, signature: str) -> bool:
    """Whether one of the signatures in a `webhook-signature` is by one of the keys. The time it takes does not tell how wrong they are."""
    expected = sign(keys, message_id=message_id, timestamp_s=timestamp_s, body=body).encode().split()
    given = signature.encode(errors="replace").split()
    return any(hmac.compare_digest(one, other) for one in expected for other in given)
