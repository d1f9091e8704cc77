"""`dueline audit`, `recovery` and `forecast`."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.plans import HOUR_MS, now_ms, put_at
from tests.api.serving import ServedApi
from tests.cli.conftest import Command


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    """A server of this test's own: these commands look at all jobs."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


def test_an_audit_exits_by_what_it_finds(cli: Command, api: ServedApi) -> None:
    fine = api.create(schedule="1s", name="fine")
    lost = api.create(schedule="1s", name="lost")
    time.sleep(1.2)
    good = cli("audit", "-o", "json")
    assert (good.code, good.json["jobs"], good.json["missed"], good.json["problems"]) == (0, 2, 0, [])
    assert "waiting" in cli("audit").out
    put_at(api, lost, now_ms(api) + HOUR_MS)
    bad = cli("audit", "-o", "json")
    assert (bad.code, [account["name"] for account in bad.json["problems"]]) == (1, ["lost"])
    assert bad.json["missed"] == bad.json["problems"][0]["missed"] >= 1
    table = cli("audit")
    assert table.code == 1
    assert lost["id"] in table.out
    assert fine["id"] not in table.out
    assert cli("audit", "--job", fine["id"]).code == 0
    assert cli("audit", "--job", lost["id"], "--to", lost["created_at"]).code == 0
    assert cli("audit", "--job", "job_01h455vb4pex5vsknk084sn02q").code == 3
    assert cli("audit", "--from", "x").code == 2


def test_a_recovery_is_shown_before_it_is_applied(cli: Command, process: Command, api: ServedApi) -> None:
    assert "Nothing is overdue." in cli("recovery", "plan").err
    assert cli("recovery", "apply").code == 0
    job = api.create(schedule={"every": "PT1H", "start_at": "2026-01-01T00:00:00Z"})
    put_at(api, job, (now_ms(api) // HOUR_MS - 5) * HOUR_MS)
    plan = cli("recovery", "plan", "--policy", "skip", "--rate", "2")
    assert job["id"] in plan.out
    assert "1 overdue jobs" in plan.err
    said_no = process("recovery", "apply", typed="n\n", DUELINE_URL=api.url)
    assert (said_no.code, said_no.out) == (1, "")
    assert job["id"] in said_no.err
    assert cli("recovery", "plan", "-o", "json").json["overdue_jobs"] == 1
    assert process("recovery", "apply", "--policy", "skip", typed="y\n", DUELINE_URL=api.url).code == 0
    assert cli("recovery", "plan", "-o", "json").json["overdue_jobs"] == 0
    assert cli("recovery", "apply", "--yes", "-o", "json").json["applied"] is True
    assert cli("recovery", "plan", "--policy", "x").code == 2


def test_a_forecast_in_bars_and_words(cli: Command, api: ServedApi) -> None:
    assert "Nothing is scheduled" in cli("forecast").out
    for number in range(4):
        api.create(schedule="0 * * * *", name=f"hourly-{number}")
    ended = cli("forecast", "--hours", "3")
    bars = ended.out.splitlines()[:3]
    assert all("█" in bar and bar.split()[-1] == "4" for bar in bars)
    assert "12 runs of 4 jobs." in ended.out
    assert "The peak is 4 runs" in ended.out
    assert "4 jobs (" in ended.out
    assert "the expression 'H * * * *': the peak falls from 4 to " in ended.out
    assert len(cli("forecast", "--hours", "168").out.splitlines()) < 50
    assert len(cli("forecast", "--hours", "2", "-o", "json").json["minutes"]) == 120
    assert cli("forecast", "--hours", "0").code == 2
