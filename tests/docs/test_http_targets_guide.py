"""The guide to HTTP targets says what is true: its job is taken, and its check of signatures works."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.circuits import DEFAULT_POLICY
from dueline.domain.ids import JobId
from dueline.domain.signing import new_secret, sign
from dueline.domain.templates import NAMES
from dueline.wire.jobs import JobInput, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import encode, read_body

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "http-targets.md").read_text()
NOW_S = 1_767_225_600


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.DOTALL)
    return str(found)


def test_the_job_of_the_guide_is_taken() -> None:
    problems = Problems()
    form = read_body(encode(json.loads(block("json"))), JobInput, problems)
    definition = to_definition(form, problems, job_id=JobId(bytes(16)), now_ms=NOW_S * 1000)
    assert definition.execution.run_timeout_ms == 7_200_000


@pytest.mark.parametrize("age_s", [0, 300, 301, -301])
def test_the_check_of_the_guide_takes_our_signatures_and_no_others(age_s: int) -> None:
    guide: dict[str, Any] = {}
    exec(block("python"), guide)
    keys = [b"a" * 32, b"b" * 32]
    body = '{"a":"ü"}'.encode()
    headers = {
        "webhook-id": "run_1",
        "webhook-timestamp": str(NOW_S),
        "webhook-signature": sign(keys, message_id="run_1", timestamp_s=NOW_S, body=body),
    }
    for key in keys:
        taken = guide["is_from_dueline"](new_secret(key), headers, body, now_s=NOW_S + age_s)
        assert taken == (abs(age_s) <= 300)
    assert not guide["is_from_dueline"](new_secret(b"c" * 32), headers, body, now_s=NOW_S)
    assert not guide["is_from_dueline"](new_secret(keys[0]), headers, body + b" ", now_s=NOW_S)


def test_every_name_and_every_number_is_in_the_guide() -> None:
    for name in NAMES:
        assert "{{" + name + "}}" in GUIDE
    policy = DEFAULT_POLICY
    assert (policy.calls_min, policy.failure_rate, policy.window_s) == (20, 0.5, 60)
    assert (policy.wait_s, policy.wait_s_max, limits.HOST_SHARE) == (5, 300, 0.5)
    assert limits.SECRET_OVERLAP_MS == 24 * 3_600_000
