"""Every example does what it says, against a real server."""

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from dueline.sdk.models import RunState
from tests.examples.staging import EXAMPLES, WAIT_S_MAX, stage
from tests.support.target import Answer, Target

BERLIN = ZoneInfo("Europe/Berlin")
RUN_HERE = {"reminder.py", "nightly_report.py", "batch_pipeline.py"}
RUN_BESIDE = {"trials_api.py", "django_project"}


async def test_a_reminder_comes_when_it_was_asked_for(tmp_path: Path) -> None:
    async with Target() as target:
        target.on("/hook", lambda _: Answer())
        with stage(tmp_path, REMINDER_URL=f"{target.url}/hook") as world:
            said = await asyncio.to_thread(world.run, "reminder.py", "in 1 second", "Call Ada")
            await target.wait_for_hits(1)
            (job,) = world.client.jobs.list(tag="reminder")
            weekly = world.run("reminder.py", "every friday at 16:00", "Hours", "--timezone", "Europe/Berlin")
            refused = world.run("reminder.py", "every now and then", "Call Ada", fails=True)
    (hit,) = target.hits
    assert (hit.method, json.loads(hit.body)) == ("POST", {"text": "Call Ada"})
    assert said.endswith(f"dueline job delete {job.id}\n")
    assert weekly.startswith("At 16:00")
    assert "schedule" in refused
    assert "Traceback" not in refused


def test_a_nightly_report_has_the_day_that_its_schedule_means(tmp_path: Path) -> None:
    """Runs of the days before come all at once now, and each reports its own day."""
    database = tmp_path / "shop.db"
    with stage(tmp_path, "--app", "nightly_report:app", SHOP_DATABASE=str(database)) as world:
        assert "reports for the first time at" in world.run("nightly_report.py")
        assert world.run("nightly_report.py") == "It is scheduled already.\n"
        (job,) = world.client.jobs.list()
        now = datetime.now(UTC)
        planned = world.client.jobs.backfill(job.id, now - timedelta(days=3), now, dry_run=True).items
        days = [fires_on(run.scheduled_at) - timedelta(days=1) for run in planned]
        sell(database, {day: [100 * number, 1] for number, day in enumerate(days, start=1)})
        for run in world.client.jobs.backfill(job.id, now - timedelta(days=3), now, rate=1000).items:
            assert world.client.runs.wait(run.run_id, timeout_s=WAIT_S_MAX).state == RunState.SUCCEEDED
        again = world.client.jobs.run(job.id)
        assert world.client.runs.wait(again.id, timeout_s=WAIT_S_MAX).state == RunState.SUCCEEDED
    assert len(days) >= 2
    with closing(sqlite3.connect(database)) as db:
        reports = dict(db.execute("SELECT day, cents FROM reports WHERE orders = 2").fetchall())
    assert reports == {day.isoformat(): 100 * number + 1 for number, day in enumerate(days, start=1)}


def fires_on(scheduled_at: str) -> date:
    return datetime.fromisoformat(scheduled_at).astimezone(BERLIN).date()


def sell(database: Path, sold: dict[date, list[int]]) -> None:
    """Sell in the first and in the last second of each day."""
    with closing(sqlite3.connect(database)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS orders (sold_s REAL NOT NULL, cents INTEGER NOT NULL)")
        for day, (first, last) in sold.items():
            midnight = datetime(day.year, day.month, day.day, tzinfo=BERLIN)
            evening = midnight.replace(hour=23, minute=59, second=59)
            db.executemany(
                "INSERT INTO orders VALUES (?, ?)", [(midnight.timestamp(), first), (evening.timestamp(), last)]
            )


def test_a_batch_goes_on_where_it_was(tmp_path: Path) -> None:
    books = tmp_path / "books"
    books.mkdir()
    for number in range(1, 6):
        (books / f"{number}.txt").write_text("word " * number)
    (books / "broken.txt").write_bytes(b"\xff")
    with stage(tmp_path, "--app", "batch_pipeline:app") as world:
        batch = ["batch_pipeline.py", str(books), "--batch", "spring"]
        said = world.run(*batch, fails=True)
        assert "1 of 6 failed" in said
        assert "broken.txt: failed: UnicodeDecodeError" in said
        (books / "broken.txt").write_text("mended now")
        assert world.run(*batch) == "17 words in 6 files.\n"
        assert world.run(*batch) == "17 words in 6 files.\n"
        states = sorted(run.state for run in world.client.runs.list(tag="spring"))
    assert states == [RunState.FAILED] + [RunState.SUCCEEDED] * 6


def test_every_example_is_listed_and_run() -> None:
    there = {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}
    assert there == RUN_HERE | RUN_BESIDE
    listed = re.findall(r"^\| \[(\w+(?:\.py)?)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert set(listed) == there
