"""Retry policies as people write them."""

from typing import Any

import msgspec
import pytest

from dueline.domain.retry import Backoff, Conditions, RetryPolicy
from dueline.domain.run import OutcomeKind
from dueline.wire.policies import RetryForm, retry_form, to_retry
from dueline.wire.problems import Problems
from dueline.wire.reading import decode, encode, read_body


def asked(form: Any) -> tuple[RetryPolicy, list[tuple[str, str]]]:
    problems = Problems()
    policy = to_retry(read_body(encode(form), RetryForm, problems), problems)
    return policy, problems.found


@pytest.mark.parametrize(
    ("form", "changed"),
    [
        ({"backoff": "list", "delays": ["1s", "PT5M", "2h"]}, {"delays_ms": (1_000, 300_000, 7_200_000)}),
        ({"max_elapsed": "1d"}, {"max_elapsed_ms": 86_400_000}),
        (
            {"retry_on": [503, "500-502", "timeout"]},
            {"retry_on": Conditions(((503, 503), (500, 502)), (OutcomeKind.TIMED_OUT,))},
        ),
        ({"retry_on": []}, {"retry_on": Conditions()}),
        (
            {"never_on": ["connection", "error", "5xx", 410]},
            {"never_on": Conditions(((500, 599), (410, 410)), (OutcomeKind.UNREACHABLE, OutcomeKind.ERRORED))},
        ),
    ],
)
def test_what_is_asked_is_kept_and_a_view_can_be_written_again(form: Any, changed: dict[str, Any]) -> None:
    policy, problems = asked(form)
    assert problems == []
    backoff = Backoff(form.get("backoff", "exponential"))
    assert policy == msgspec.structs.replace(RetryPolicy(), backoff=backoff, **changed)
    assert asked(decode(encode(retry_form(policy)))) == (policy, [])


def test_defaults_take_no_room() -> None:
    policy, _ = asked({"retry_on": None, "never_on": [], "delays": [], "max_elapsed": None, "max_attempts": 5})
    assert msgspec.json.decode(msgspec.json.encode(policy)).keys() <= {"base_ms", "cap_ms"}


@pytest.mark.parametrize(
    ("form", "field", "reason"),
    [
        ({"delays": ["1s"]}, "retry.delays", "for the backoff list only"),
        ({"backoff": "list"}, "retry.delays", "1 to 100 durations"),
        ({"backoff": "list", "delays": ["1s", "x"]}, "retry.delays[1]", "not a duration"),
        ({"backoff": "list", "delays": ["1s"] * 101}, "retry.delays", "1 to 100 durations"),
        ({"backoff": "lists"}, "backoff", "must be exponential or fixed or list"),
        ({"max_elapsed": "31d"}, "retry.max_elapsed", "between"),
        ({"retry_on": ["5xx", "sometimes"]}, "retry.retry_on[1]", "one of timeout, connection, error"),
        ({"retry_on": ["lost"]}, "retry.retry_on[0]", "max_lost"),
        ({"retry_on": [410]}, "retry.retry_on[0]", "gone for good"),
        ({"never_on": [600]}, "retry.never_on[0]", "must be a status"),
        ({"never_on": [500] * 33}, "retry.never_on", "at most 32"),
    ],
)
def test_what_cannot_work_is_refused_by_its_field(form: Any, field: str, reason: str) -> None:
    _, ((found, why), *more) = asked(form)
    assert found == field
    assert reason in why
    assert more == []
