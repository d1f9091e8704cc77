"""Keys and roles."""

import re

import pytest

from dueline.domain.access import ApiKey, Caller, KeyRefused, KeyRole, digest_of, id_of, make_key

KEY = make_key(bytes(range(40)))


def test_a_key_tells_what_it_is_and_its_id() -> None:
    assert re.fullmatch(r"dueline_[a-z2-7]{16}_[a-z2-7]{48}[0-9a-f]{8}", KEY)
    assert id_of(KEY) == KEY.split("_")[1]
    assert id_of(make_key(bytes(10) + bytes(range(30)))) == "a" * 16


def test_a_key_that_was_mistyped_is_known_as_such_wherever_that_was() -> None:
    for place in range(len("dueline_"), len(KEY)):
        letter = "2" if KEY[place] != "2" else "3"
        with pytest.raises(KeyRefused, match="mistyped"):
            id_of(KEY[:place] + letter + KEY[place + 1 :])
    for text in (KEY[:-1], KEY + "0", "dueline_", KEY.upper().replace("DUELINE", "dueline")):
        with pytest.raises(KeyRefused, match="mistyped"):
            id_of(text)


def test_a_key_that_people_thought_of_has_an_id_that_does_not_tell_it() -> None:
    assert re.fullmatch(r"given-[0-9a-f]{16}", id_of("open sesame"))
    assert id_of("open sesame") != id_of("open sesame!")
    assert not digest_of("open sesame").hex().startswith(id_of("open sesame").removeprefix("given-"))


def test_a_key_is_known_by_its_digest() -> None:
    key = ApiKey(id=id_of(KEY), tenant="acme", role=KeyRole.READER, name="", digest=digest_of(KEY))
    assert key.is_of(KEY)
    assert not key.is_of(KEY[:-1])
    assert not key.is_of("")


def test_each_role_may_what_those_before_it_may() -> None:
    order = [KeyRole.READER, KeyRole.WRITER, KeyRole.OPERATOR, KeyRole.ADMIN]
    for place, role in enumerate(order):
        assert [role.covers(needed) for needed in order] == [number <= place for number in range(4)]


def test_one_tenant_governs() -> None:
    def caller(tenant: str) -> Caller:
        return Caller(ApiKey(id="a", tenant=tenant, role=KeyRole.ADMIN, name="", digest=b""))

    assert [caller(tenant).governs for tenant in ("default", "acme", "")] == [True, False, False]
