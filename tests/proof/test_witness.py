"""The target and the client write down what happened, whatever happened."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from proof.client import Client
from proof.records import CALLS, Answered, Call, read_lines
from proof.target import Target


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    target = Target(tmp_path / "hits.jsonl")
    yield target
    target.close()


def post(target: Target, path: str, *, attempt: int = 1, timeout_s: float = 5.0) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(target.url.removeprefix("http://"), timeout=timeout_s)
    try:
        headers = {
            "Dueline-Run": "run_a",
            "Dueline-Attempt": str(attempt),
            "Dueline-Token": str(2 * attempt - 1),
            "Dueline-Job": "job_a",
            "Dueline-Scheduled-At": "2026-01-01T00:00:00.000Z",
        }
        connection.request("POST", path, b'{"marker": "mine"}', headers)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def test_a_call_is_written_before_it_is_answered(target: Target) -> None:
    assert post(target, "/ok").status == 200
    (hit,) = target.hits()
    assert (hit.run, hit.attempt, hit.token, hit.job, hit.marker) == ("run_a", 1, 1, "job_a", "mine")
    assert hit.scheduled_at == "2026-01-01T00:00:00.000Z"


def test_it_behaves_as_the_path_says(target: Target) -> None:
    assert post(target, "/status/500", attempt=2).status == 500
    assert post(target, "/first/status/503").status == 503
    assert post(target, "/first/status/503", attempt=2).status == 200
    busy = post(target, "/first/retry-after/7")
    assert (busy.status, busy.headers["Retry-After"]) == (429, "7")
    assert post(target, "/slow/0.1").status == 200
    elsewhere = post(target, "/first/redirect")
    assert (elsewhere.status, elsewhere.headers["Location"]) == (302, "/ok")
    with pytest.raises(TimeoutError):
        post(target, "/first/flood", timeout_s=0.3)
    with pytest.raises(ConnectionResetError):
        post(target, "/first/reset")
    with pytest.raises(TimeoutError):
        post(target, "/first/hang", timeout_s=0.3)
    assert len(target.hits()) == 9


def answering(text: bytes | None) -> str:
    """An address that answers one request with these bytes, or resets the connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listening:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                if text is not None:
                    connection.sendall(text)

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize(
    ("said", "answered"),
    [
        (b'HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{"id": "a1"}', Answered.ACKNOWLEDGED),
        (b"HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\n{}", Answered.REFUSED),
        (b"HTTP/1.1 503 Away\r\nContent-Length: 2\r\n\r\n{}", Answered.UNKNOWN),
        (b"HTTP/1.1 201 Created\r\nContent-Length: 12\r\n\r\n{", Answered.UNKNOWN),
        (None, Answered.UNKNOWN),
    ],
)
def test_the_client_tells_yes_no_and_unknown_apart(tmp_path: Path, said: bytes | None, answered: Answered) -> None:
    client = Client(answering(said), tmp_path / CALLS)
    client.adhoc({"tags": ["mine"]})
    client.close()
    (call,) = read_lines(tmp_path / CALLS, Call)
    assert (call.operation, call.marker, call.answered) == ("adhoc", "mine", answered)
    assert (call.id == "a1") == (answered is Answered.ACKNOWLEDGED)


def test_where_nobody_listens_nothing_was_done(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}", tmp_path / CALLS)
    client.adhoc({"tags": ["mine"]})
    client.close()
    (call,) = read_lines(tmp_path / CALLS, Call)
    assert call.answered is Answered.REFUSED
