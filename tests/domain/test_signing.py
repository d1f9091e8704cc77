"""Signatures, with the reference library of Standard Webhooks as the oracle."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.signing import is_previous_used, is_signed, new_secret, read_secret, sign

keys = st.binary(min_size=limits.SECRET_BYTES_MIN, max_size=limits.SECRET_BYTES_MAX)


@given(keys, st.integers(0, 4_000_000_000), st.text(st.characters(exclude_categories=["Cs"])))
def test_a_signature_is_the_oracles(key: bytes, timestamp_s: int, body: str) -> None:
    moment = datetime.fromtimestamp(timestamp_s, tz=UTC)
    expected = Webhook(new_secret(key)).sign("run_1", moment, body)
    assert sign([key], message_id="run_1", timestamp_s=timestamp_s, body=body.encode()) == expected


def test_the_example_of_the_specification() -> None:
    key = read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    message_id, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}'
    signature = sign([key], message_id=message_id, timestamp_s=1_614_265_330, body=body)
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(keys, keys)
def test_two_keys_make_two_signatures(one: bytes, other: bytes) -> None:
    both = sign([one, other], message_id="m", timestamp_s=1, body=b"\xff")
    assert both.split(" ") == [sign([key], message_id="m", timestamp_s=1, body=b"\xff") for key in (one, other)]


@given(keys)
def test_a_secret_reads_as_its_key(key: bytes) -> None:
    assert read_secret(new_secret(key)) == key


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa!w",
        "whsec_ü",
        new_secret(b"x" * (limits.SECRET_BYTES_MIN - 1)),
        new_secret(b"x" * (limits.SECRET_BYTES_MAX + 1)),
    ],
)
def test_a_bad_secret_is_refused(secret: str) -> None:
    with pytest.raises(Invalid, match="whsec_"):
        read_secret(secret)


def test_the_previous_secret_is_used_for_a_day() -> None:
    assert is_previous_used(1_000, now_ms=1_000 + limits.SECRET_OVERLAP_MS - 1)
    assert not is_previous_used(1_000, now_ms=1_000 + limits.SECRET_OVERLAP_MS)


@given(keys, keys, st.binary())
def test_one_signature_by_one_of_the_keys_is_enough(one: bytes, other: bytes, body: bytes) -> None:
    both = sign([one, other], message_id="m", timestamp_s=1, body=body)
    assert is_signed([other], message_id="m", timestamp_s=1, body=body, signature=both)
    assert is_signed([b"x" * 24, one], message_id="m", timestamp_s=1, body=body, signature=f"v1a,abc {both}")
    assert not is_signed([b"x" * 65], message_id="m", timestamp_s=1, body=body, signature=both)
    assert not is_signed([one, other], message_id="m", timestamp_s=2, body=body, signature=both)
    assert not is_signed([], message_id="m", timestamp_s=1, body=body, signature=both)
    assert not is_signed([one], message_id="m", timestamp_s=1, body=body, signature="")
