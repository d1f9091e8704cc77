"""API keys, and the signing secret."""

from __future__ import annotations

from dueline.api.openapi.operation import Operation

OPERATIONS = {
    "GET /v1/signing-secret": Operation(
        id="signing_secret.get", description="The secret itself is never shown again after it was made."
    ),
    "POST /v1/signing-secret/rotate": Operation(
        id="signing_secret.rotate",
        description="For a day calls are signed with the one before as well, so that receivers can learn the new one.",
    ),
    "POST /v1/keys": Operation(
        id="keys.create",
        description=(
            "No other answer holds the `key`: it cannot be asked for again, not even with the same `Idempotency-Key`. For another tenant "
            "than the caller's it takes a key of the tenant `default`."
        ),
        requests={
            "to watch": {"role": "reader", "name": "dashboard"},
            "for another tenant, until it ends": {
                "role": "writer",
                "name": "deploys",
                "tenant": "acme",
                "expires_at": "2099-01-01T00:00:00Z",
            },
        },
        headers=("Location",),
    ),
    "GET /v1/keys": Operation(
        id="keys.list",
        description=(
            "Those of the caller's tenant, revoked and expired ones too. Those of another are told to a key of the tenant `default`."
        ),
    ),
    "GET /v1/keys/{id}": Operation(id="keys.get"),
    "DELETE /v1/keys/{id}": Operation(
        id="keys.revoke",
        description=(
            "It stays in the list, with `revoked_at`. To revoke it again changes nothing. The last admin key of the tenant `default` is "
            "refused: make a new one first."
        ),
        problems=("conflict",),
    ),
    "GET /v1/caller": Operation(id="keys.caller"),
}
