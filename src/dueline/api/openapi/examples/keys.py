"""Answers about API keys and the signing secret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dueline.api.openapi.examples.names import CREATED
from dueline.domain.access import KeyRole
from dueline.wire.keys import CallerView, KeyView, NewKeyView
from dueline.wire.secrets import NewSecretView, SecretView

_ID = "mfrggzdfmztwq2lk"
_KEY: dict[str, Any] = {
    "id": _ID,
    "tenant": "acme",
    "role": KeyRole.WRITER,
    "name": "deploys",
    "created_at": CREATED,
    "expires_at": None,
    "revoked_at": None,
}

ANSWERS: Mapping[Any, Any] = {
    KeyView: KeyView(**_KEY),
    NewKeyView: NewKeyView(**_KEY, key=f"dueline_{_ID}_…"),
    CallerView: CallerView(key_id=_ID, tenant="acme", role=KeyRole.WRITER, governs=False, expires_at=None),
    SecretView: SecretView(is_set=True, rotated_at=CREATED),
    NewSecretView: NewSecretView(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", rotated_at=CREATED),
}
