"""The receiver of the guide to idempotency, started as it stands there, and called as Dueline calls it."""

import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.retry import BY_DEFAULT, RetryPolicy
from dueline.domain.statuses import holds
from dueline.inbox import Inbox, Rejected
from dueline.sdk.client import PlainClient
from dueline.tasks.context import LocalContext
from dueline.tasks.loading import load_app
from dueline.wire.policies import RetryForm, to_retry
from dueline.wire.problems import Problems
from tests.inbox.deliveries import KEY, OLD_KEY, SECRET, a_run, sent
from tests.support.dueline import DuelineProcess, processes

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "idempotency.md").read_text()
EXAMPLES: dict[str, str] = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", TEXT, re.DOTALL))
PROSE = " ".join(TEXT.split())
ORDER = '{"item":"cheese","pieces":2}'
SOLD = (200, b'{"item": "cheese", "left": 8}')
WAIT_S_MAX = 60.0
POLL_S = 0.05

DIES_BEFORE_THE_COMMIT = """
import os, shop
sell = shop.sell
def sell_and_die(db, item, pieces):
    sell(db, item, pieces)
    os._exit(1)
shop.sell = sell_and_die
shop.main()
"""
DIES_BEFORE_THE_ANSWER = """
import os, shop
shop.Shop.reply = lambda *_: os._exit(1)
shop.main()
"""


class Shop:
    """The shop of the guide, as processes that may die, on one database and one port."""

    def __init__(self, folder: Path) -> None:
        self.secret = SECRET
        self.database = folder / "shop.db"
        self._folder = folder
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        (folder / "shop.py").write_text(EXAMPLES["shop"])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def start(self, program: str | None = None) -> None:
        environment = {"SHOP_DATABASE": str(self.database), "SHOP_SECRET": self.secret, "SHOP_PORT": str(self._port)}
        with (self._folder / "shop.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-W", "error", *(["shop.py"] if program is None else ["-c", program])],
                cwd=self._folder,
                env=os.environ | environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        assert said, (self._folder / "shop.log").read_text()
        self._port = int(said.split()[-1])

    def wait_for_its_death(self) -> None:
        assert self._process is not None
        assert self._process.wait(WAIT_S_MAX) == 1
        self.close()

    def close(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._process = None

    def stock(self, pieces: int) -> None:
        with closing(sqlite3.connect(self.database)) as db, db:
            db.execute("INSERT OR REPLACE INTO stock VALUES ('cheese', ?)", (pieces,))

    def fetch(self, sql: str) -> Any:
        with closing(sqlite3.connect(self.database)) as db:
            return db.execute(sql).fetchone()[0]

    @property
    def left(self) -> Any:
        return self.fetch("SELECT pieces FROM stock")

    def deliver(self, *, run: int = 1, token: int = 1, key: bytes = KEY, late_s: float = 0) -> tuple[int, bytes]:
        """Call it as a worker does; answers the status and the body."""
        now_ms = int((time.time() - late_s) * 1000)
        headers, body = sent(key, run_id=a_run(run), token=token, attempt=token, body=ORDER, now_ms=now_ms)
        with closing(HTTPConnection("127.0.0.1", self._port, timeout=WAIT_S_MAX)) as connection:
            connection.request("POST", "/", body, dict(headers))
            response = connection.getresponse()
            return response.status, response.read()


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shop = Shop(tmp_path)
    shop.start()
    shop.stock(10)
    yield shop
    shop.close()


def test_every_run_is_sold_once(shop: Shop) -> None:
    assert [shop.deliver(token=token) for token in (3, 4, 2, 3)] == [SOLD] * 4
    assert shop.left == 8
    assert shop.fetch("SELECT token FROM dueline_inbox") == 4
    assert shop.deliver(run=2) == (200, b'{"item": "cheese", "left": 6}')


def test_deliveries_at_the_same_time_are_sold_once(shop: Shop) -> None:
    """Somebody else writes at first, so that all of them wait for the same moment."""
    with ThreadPoolExecutor(6) as pool, closing(sqlite3.connect(shop.database)) as other:
        other.execute("BEGIN IMMEDIATE")
        answers = [pool.submit(shop.deliver, token=token) for token in range(1, 7)]
        other.rollback()
        assert [answer.result() for answer in answers] == [SOLD] * 6
    assert shop.left == 8


def test_a_sale_that_fails_is_made_up_for(shop: Shop) -> None:
    shop.stock(1)
    assert shop.deliver(token=1)[0] == 503
    shop.stock(10)
    assert shop.deliver(token=2) == SOLD
    assert shop.left == 8


def test_calls_of_others_are_turned_away(shop: Shop) -> None:
    assert shop.deliver(key=OLD_KEY)[0] == 401
    assert shop.deliver(late_s=limits.SIGNATURE_TOLERANCE_S + 5)[0] == 401
    assert shop.left == 10


@pytest.mark.parametrize(
    ("program", "sold"),
    [(DIES_BEFORE_THE_COMMIT, 0), (DIES_BEFORE_THE_ANSWER, 2)],
    ids=["before the commit", "before the answer"],
)
def test_a_run_of_a_real_dueline_is_sold_once_though_the_shop_dies(tmp_path: Path, program: str, sold: int) -> None:
    shop = Shop(tmp_path)
    with processes() as started, closing(shop):
        started.append(DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=str(tmp_path / "dueline.db")))
        url = started[0].wait_until_running()
        assert url is not None
        with PlainClient(url) as client:
            shop.secret = client.signing_secret.rotate()["secret"]
            shop.start(program)
            shop.stock(10)
            target = {"type": "http", "url": shop.url, "body": json.loads(ORDER)}
            run = client.runs.enqueue(
                {"target": target, "retry": {"max_attempts": 50, "backoff": "fixed", "base": "1s"}}
            )
            shop.wait_for_its_death()
            assert shop.left == 10 - sold
            shop.start()
            ended = wait_for_end(lambda: client.runs.get(run["id"]))
    assert (ended["state"], ended["result"]) == ("succeeded", SOLD[1].decode())
    assert shop.left == 8
    assert shop.fetch("SELECT deliveries FROM dueline_inbox") == (1 if sold == 0 else 2)


def wait_for_end(read: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_S_MAX
    while (run := read())["finished_at"] is None:
        assert time.monotonic() < deadline, run
        time.sleep(POLL_S)
    return run


def test_a_task_has_its_effect_once(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "stock_tasks.py").write_text(EXAMPLES["stock_tasks"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SHOP_DATABASE", str(shop.database))
    restock = load_app("stock_tasks:app").tasks["restock"]
    attempts = [LocalContext(run_id="run_1", attempt=token, token=token) for token in (1, 2)]
    assert [restock.run(context, item="cheese", pieces=5) for context in attempts] == [True, False]
    assert shop.left == 15
    sys.modules.pop("stock_tasks")


def test_the_statements_of_the_guide_may_come_twice() -> None:
    payment, report, price = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE payments (run_id TEXT PRIMARY KEY, customer TEXT, cents INTEGER)")
        db.execute("CREATE TABLE reports (day TEXT PRIMARY KEY, total INTEGER)")
        db.execute("CREATE TABLE prices (item TEXT PRIMARY KEY, cents INTEGER, as_of TEXT)")
        db.execute("INSERT INTO prices VALUES ('cheese', 100, '2026-01-01T00:00:00.000Z')")
        for day, cents in ((3, 300), (3, 300), (2, 200)):
            values = {"cents": cents, "item": "cheese", "scheduled_at": f"2026-01-0{day}T00:00:00.000Z"}
            db.execute(price, values)
            db.execute(payment, {"run_id": "run_1", "customer": "ada", "cents": 5})
            db.execute(report, {"day": "2026-01-01", "total": cents})
        assert db.execute("SELECT cents FROM prices").fetchall() == [(300,)]
        assert db.execute("SELECT cents FROM payments").fetchall() == [(5,)]
        assert db.execute("SELECT total FROM reports").fetchall() == [(200,)]


def test_the_retries_of_the_guide_are_the_usual_ones_and_401() -> None:
    (listed,) = re.findall(r'"retry_on": (\[.*?\])', PROSE)
    problems = Problems()
    conditions = to_retry(RetryForm(retry_on=json.loads(listed)), problems).retry_on
    problems.raise_any()
    assert conditions is not None
    assert set(conditions.kinds) == set(BY_DEFAULT.kinds)
    usual = {status for status in range(100, 600) if holds(BY_DEFAULT.statuses, status)}
    assert {status for status in range(100, 600) if holds(conditions.statuses, status)} == usual | {401}


def test_every_rejection_and_every_number_is_in_the_guide() -> None:
    for error in Rejected.__subclasses__():
        assert f"`{error.__name__}`" in PROSE
    for name in (name for name in vars(Inbox) if not name.startswith("_")):
        assert f"`inbox.{name}" in PROSE
    assert f"more than {limits.SIGNATURE_TOLERANCE_S // 60} minutes ago" in PROSE
    assert f"{limits.FORGET_BATCH:,} at a time" in PROSE
    assert f"{RetryPolicy().cap_ms // 60_000} minutes by default, {limits.RETRY_CAP_MS_MAX // 86_400_000} days" in PROSE
