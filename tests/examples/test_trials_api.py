"""The FastAPI app of the examples, served as its readers serve it, and called by a real Dueline and by others."""

import base64
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from dueline.domain.ids import parse_run_id
from tests.examples.staging import POLL_S, WAIT_S_MAX, Stage, stage
from tests.inbox.deliveries import OLD_KEY, sent
from tests.support.ports import kept_port

HOOK = "/hooks/trial-ended"
ADA = {"email": "ada@example.com"}


class Trials:
    def __init__(self, world: Stage, port: int, secret: str, database: Path) -> None:
        self.world = world
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self._port = port
        self._database = database

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        """The status and what was answered."""
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S_MAX)) as connection:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def sign_up(self) -> Any:
        return self.call("POST", "/signups", json.dumps(ADA).encode(), {"Content-Type": "application/json"})

    def deliver(self, run_id: str, key: bytes, *, token: int) -> Any:
        """Call the hook as a worker does."""
        headers, body = sent(
            key,
            run_id=parse_run_id(run_id, field="run"),
            job_id=None,
            token=token,
            body=json.dumps(ADA),
            now_ms=int(time.time() * 1000),
        )
        return self.call("POST", HOOK, body, dict(headers))

    def mails(self) -> list[str]:
        with closing(sqlite3.connect(self._database)) as db:
            return [email for (email,) in db.execute("SELECT email FROM mails")]


@contextmanager
def served(folder: Path, *, trials_last_s: int) -> Iterator[Trials]:
    with stage(folder) as world, kept_port() as port:
        secret = world.client.signing_secret.rotate().secret
        database = folder / "trials.db"
        variables = {
            "TRIALS_SECRET": secret,
            "TRIALS_DATABASE": str(database),
            "TRIALS_URL": f"http://127.0.0.1:{port}",
            "TRIALS_LAST_S": str(trials_last_s),
        }
        with world.start("-m", "uvicorn", "trials_api:app", "--port", str(port), **variables) as program:
            deadline = time.monotonic() + WAIT_S_MAX
            while "Uvicorn running on" not in world.said:
                assert program.poll() is None, world.said
                assert time.monotonic() < deadline, world.said
                time.sleep(POLL_S)
            yield Trials(world, port, secret, database)


def test_a_trial_ends_once_when_its_time_has_come(tmp_path: Path) -> None:
    with served(tmp_path, trials_last_s=1) as trials:
        assert trials.sign_up() == (201, ADA | {"plan": "trial"})
        (run,) = trials.world.client.runs.list()
        ended = trials.world.client.runs.wait(run.id, timeout_s=WAIT_S_MAX)
        assert (ended.state, json.loads(ended.result or "")) == ("succeeded", ADA | {"plan": "free"})
        assert trials.call("GET", f"/accounts/{ADA['email']}") == (200, ADA | {"plan": "free"})
        assert trials.sign_up() == (200, ADA | {"plan": "free"})
        assert len([*trials.world.client.runs.list()]) == 1
        assert trials.deliver(run.id, trials.key, token=99) == (200, ADA | {"plan": "free"})
        assert trials.mails() == [ADA["email"]]


def test_nobody_else_ends_a_trial(tmp_path: Path) -> None:
    with served(tmp_path, trials_last_s=86_400) as trials:
        trials.sign_up()
        trials.sign_up()
        (run,) = trials.world.client.runs.list()
        assert trials.deliver(run.id, OLD_KEY, token=1)[0] == 401
        assert trials.call("POST", HOOK, json.dumps(ADA).encode())[0] == 401
        assert trials.call("GET", f"/accounts/{ADA['email']}") == (200, ADA | {"plan": "trial"})
        assert trials.call("GET", "/accounts/nobody")[0] == 404
        assert trials.mails() == []
