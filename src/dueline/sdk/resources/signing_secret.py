"""The secret that calls to HTTP targets are signed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint

if TYPE_CHECKING:
    from dueline.wire.secrets import NewSecretView, SecretView


class SigningSecret(Resource[D]):
    """There is one, or none yet."""

    @endpoint("GET /v1/signing-secret")
    def get(self) -> Call[SecretView]:
        """Tell whether there is a secret (`is_set`), and since when; never the secret itself."""
        return Call()

    @endpoint("POST /v1/signing-secret/rotate")
    def rotate(self) -> Call[NewSecretView]:
        """Make a new secret. This answer is the only one that ever holds it."""
        return Call()
