"""Servers that are killed between what they were asked for and the answer: asked again with the same key, they do it once."""

from __future__ import annotations

import time
from http.client import HTTPConnection, RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.support.dueline import DuelineProcess, processes
from tests.support.keys import AUTHORIZED

PATIENCE_S = 30.0
JOB = {"target": {"url": "http://127.0.0.1:9/"}, "name": "once"}


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "db") if request.param == "sqlite" else request.getfixturevalue("postgres_dsn")


def ask(url: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=PATIENCE_S)
    try:
        sent = None if body is None else msgspec.json.encode(body)
        connection.request(method, path, body=sent, headers={**AUTHORIZED, "Idempotency-Key": "k1"})
        response = connection.getresponse()
        return response.status, msgspec.json.decode(response.read())
    finally:
        connection.close()


def ask_until_answered(url: str, path: str, body: Any) -> tuple[int, Any]:
    """As a client does: again while it is told that the request is in progress."""
    deadline = time.monotonic() + PATIENCE_S
    while (answer := ask(url, "POST", path, body))[0] == 409:
        assert answer[1]["type"].endswith(":in-progress")
        assert time.monotonic() < deadline
    return answer


@pytest.mark.parametrize(
    ("path", "body", "noun"), [("/v1/jobs", JOB, "jobs"), ("/v1/runs", {"target": JOB["target"]}, "runs")]
)
def test_what_was_done_by_a_server_that_was_killed_is_not_done_again(
    tmp_path: Path, db: str, path: str, body: Any, noun: str
) -> None:
    with processes() as started:
        started.append(DuelineProcess(tmp_path, "mortal", "serve", "--port", "0", db=db, module="tests.support.mortal"))
        url = started[0].wait_until_running()
        assert url is not None
        with pytest.raises((RemoteDisconnected, ConnectionResetError)):
            ask(url, "POST", path, body)
        assert started[0].exit_code() == -9
        started.append(DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=db))
        url = started[1].wait_until_running()
        assert url is not None
        answers = [ask_until_answered(url, path, body) for _ in range(2)]
        _, listed = ask(url, "GET", f"/v1/{noun}")
        assert [status for status, _ in answers] == [201, 201]
        assert [told["id"] for _, told in answers] == [one["id"] for one in listed["items"]] * 2
        assert started[1].stop() == 0
