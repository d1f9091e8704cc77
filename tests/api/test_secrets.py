"""The signing secret over HTTP."""

from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.signing import read_secret
from tests.api.serving import ServedApi


def test_a_secret_is_shown_once_and_its_time_always(own_api: ServedApi) -> None:
    assert own_api.call("GET", "/v1/signing-secret").json == {"set": False, "rotated_at": None}
    reply = own_api.call("POST", "/v1/signing-secret/rotate")
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-store")
    assert len(read_secret(reply.json["secret"])) == 40
    told = own_api.call("GET", "/v1/signing-secret")
    assert told.json == {"set": True, "rotated_at": reply.json["rotated_at"]}


def test_a_rotation_makes_another_secret_and_keeps_the_one_before(own_api: ServedApi) -> None:
    first, second = (own_api.call("POST", "/v1/signing-secret/rotate").json["secret"] for _ in range(2))
    stored = own_api.on_store(lambda store: store.signing_secrets([DEFAULT_TENANT]))[DEFAULT_TENANT]
    assert (stored.current, stored.previous) == (second, first)
    assert first != second


def test_a_secret_is_not_made_by_looking(own_api: ServedApi) -> None:
    assert own_api.call("GET", "/v1/signing-secret/rotate").status == 405
    assert own_api.call("POST", "/v1/signing-secret").status == 405
    assert own_api.call("GET", "/v1/signing-secret").json["set"] is False
