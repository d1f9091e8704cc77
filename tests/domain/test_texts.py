"""Text from elsewhere, made fit to be kept."""

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.texts import clean_text, kept_result


@pytest.mark.parametrize(
    ("text", "kept"), [("plain\nlines", "plain\nlines"), ("a\0b", "a\\0b"), ("\ud800", "\\ud800"), ("ü€", "ü€")]
)
def test_what_no_store_can_keep_is_spelt_out(text: str, kept: str) -> None:
    assert clean_text(text) == kept


def test_a_result_is_kept_whole_up_to_the_limit_and_told_by_its_beginning_past_it() -> None:
    at_limit = msgspec.json.encode("x" * (limits.RESPONSE_KEPT_BYTES - 2))
    assert len(at_limit) == limits.RESPONSE_KEPT_BYTES
    assert kept_result(at_limit) == at_limit.decode()
    beyond = msgspec.json.decode(kept_result(msgspec.json.encode("x" * (limits.RESPONSE_KEPT_BYTES - 1))))
    assert (beyond["too_large"], beyond["bytes"]) == (True, limits.RESPONSE_KEPT_BYTES + 1)
    assert beyond["beginning"].startswith('"xxx')
