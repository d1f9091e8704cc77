"""The Django project of the examples: its jobs are declared once, follow what is declared, and do their work."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from dueline.sdk.models import JobState, RunState
from tests.examples.staging import EXAMPLES, WAIT_S_MAX, stage

CLEAR, CHECK = "bookshop: clear sessions", "bookshop: check"
EXPIRED, VALID = "2020-01-01 00:00:00", "2999-01-01 00:00:00"


def test_the_jobs_of_a_project_are_what_it_declares(tmp_path: Path) -> None:
    """In a copy, so that a deployment may change what is declared."""
    where = tmp_path / "project"
    shutil.copytree(EXAMPLES / "django_project", where, ignore=shutil.ignore_patterns("__pycache__"))
    database = str(tmp_path / "bookshop.db")
    with stage(tmp_path, "--app", "bookshop.tasks:app", where=where, BOOKSHOP_DATABASE=database) as world:
        other = world.client.jobs.create(name="of somebody else", task="clear-sessions")
        assert synced(world.run("manage.py", "sync_jobs", "--dry-run")) == {CLEAR: "created", CHECK: "created"}
        assert [job.id for job in world.client.jobs.list()] == [other.id]
        assert synced(world.run("manage.py", "sync_jobs")) == {CLEAR: "created", CHECK: "created"}
        before = {job.name: job for job in world.client.jobs.list(tag="owner:bookshop")}
        assert synced(world.run("manage.py", "sync_jobs")) == {CLEAR: "unchanged", CHECK: "unchanged"}
        world.client.jobs.pause(before[CHECK].id)

        jobs = where / "bookshop" / "jobs.py"
        jobs.write_text(jobs.read_text().replace("4:00", "5:00").replace(CHECK, "bookshop: look"))
        changed = {CLEAR: "updated", "bookshop: look": "created", CHECK: "deleted"}
        assert synced(world.run("manage.py", "sync_jobs", "--dry-run")) == changed
        assert synced(world.run("manage.py", "sync_jobs")) == changed
        after = {job.name: job for job in world.client.jobs.list(state=JobState.ACTIVE)}
        assert set(after) == {CLEAR, "bookshop: look", other.name}
        clear = after[CLEAR]
        assert clear.id == before[CLEAR].id
        assert clear.schedule is not None
        assert clear.schedule.cron == "0 5 * * *"

        jobs.write_text(jobs.read_text().replace("every hour", "every now and then"))
        refused = world.run("manage.py", "sync_jobs", fails=True)
        assert "CommandError: schedule" in refused


def test_a_worker_carries_out_the_commands_of_a_project(tmp_path: Path) -> None:
    database = tmp_path / "bookshop.db"
    where = EXAMPLES / "django_project"
    with stage(tmp_path, "--app", "bookshop.tasks:app", where=where, BOOKSHOP_DATABASE=str(database)) as world:
        world.run("manage.py", "migrate")
        with closing(sqlite3.connect(database)) as db, db:
            sessions = [("old", "", EXPIRED), ("new", "", VALID)]
            db.executemany(
                "INSERT INTO django_session (session_key, session_data, expire_date) VALUES (?, ?, ?)", sessions
            )
        world.run("manage.py", "sync_jobs")
        for job in world.client.jobs.list():
            run = world.client.runs.wait(world.client.jobs.run(job.id).id, timeout_s=WAIT_S_MAX)
            assert run.state == RunState.SUCCEEDED, run.error
        with closing(sqlite3.connect(database)) as db:
            assert db.execute("SELECT session_key FROM django_session").fetchall() == [("new",)]


def synced(said: str) -> dict[str, str]:
    """What became of each job."""
    return {name: done for done, name in re.findall(r"^(\w+) +(.*)$", said, re.MULTILINE)}
