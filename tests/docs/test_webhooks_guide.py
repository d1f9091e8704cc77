"""The guide to webhooks shows what is sent, and what can be written."""

import json
import re
from pathlib import Path

import msgspec

from dueline.domain.notices import VERSION, NoticeBody
from dueline.domain.retry import RetryPolicy
from dueline.domain.states import TERMINAL
from dueline.wire.jobs import JobInput

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "webhooks.md").read_text()
ASKED, SENT = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL))


def test_the_body_is_the_one_that_is_sent() -> None:
    body = msgspec.convert(SENT, NoticeBody)
    assert json.loads(msgspec.json.encode(body)) == SENT
    assert body.version == VERSION


def test_the_job_can_be_written() -> None:
    job = msgspec.convert(ASKED, JobInput)
    assert job.notify is not None
    assert set(job.notify.on) < TERMINAL


def test_every_end_is_named() -> None:
    assert {state for state in TERMINAL if f"`{state}`" in TEXT} == TERMINAL


def test_the_numbers_are_those_of_the_code() -> None:
    assert RetryPolicy().max_attempts == 5
    assert "five times over some minutes" in TEXT
