"""`dueline doctor` against servers: each thing that it looks for is broken for real."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline import __version__
from dueline.cli import doctor
from dueline.cli.findings import CLOCK_MS_ERROR, CLOCK_MS_WARNING, Asked, Level, judge_clock, size, span
from dueline.domain.ids import BootId
from dueline.runtime.clock import SystemClock
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.sqlite.store import SqliteStore
from tests.api.plans import HOUR_MS, instant, now_ms, put_at
from tests.api.serving import TARGET, ServedApi
from tests.api.working import WORKER, a_dead_letter, claim
from tests.cli.conftest import Command, Ended
from tests.support.dueline import DuelineProcess, processes
from tests.support.keys import ADMIN_KEY
from tests.support.small_server import Answer, Question, SmallServer
from tests.support.stores import register

WAIT_S_MAX = 30.0


class ShiftedClock(SystemClock):
    """This machine's clock, wrong by so much."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.ahead_s = ahead_s

    def wall_ms(self) -> int:
        return super().wall_ms() + round(self.ahead_s * 1000)


@pytest.fixture
def store_clock() -> ShiftedClock:
    return ShiftedClock()


@pytest.fixture
def api(tmp_path: Path, store_clock: ShiftedClock) -> Iterator[ServedApi]:
    """A server of this test's own: the doctor looks at all of it."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", store_clock)) as api:
        yield api


def levels(ended: Ended, check: str) -> list[str]:
    return [finding["level"] for finding in ended.json["findings"] if finding["check"] == check]


def meanings(ended: Ended, check: str) -> str:
    return " ".join(finding["meaning"] for finding in ended.json["findings"] if finding["check"] == check)


def examined(cli: Command, *args: str) -> Ended:
    """A look in JSON. The exit code follows the errors, and everything that is not ok says what to do."""
    ended = cli("doctor", *args, "-o", "json")
    errors = [finding for finding in ended.json["findings"] if finding["level"] == "error"]
    assert ended.code == (1 if errors else 0)
    assert ended.json["error"] == len(errors)
    assert all(bool(finding["advice"]) is (finding["level"] != "ok") for finding in ended.json["findings"])
    return ended


def a_process(api: ServedApi, name: str, role: Role, *, version: str = __version__) -> None:
    node = NewNode(boot_id=BootId(name), role=role, host="here", pid=1, version=version, slots=1)
    api.on_store(lambda store: store.register(node, lease_s=8.0))


def test_a_server_in_good_health_has_nothing(process: Command, tmp_path: Path) -> None:
    """As people have it: one process, with its own file."""
    db = tmp_path / "healthy.db"
    with processes() as started:
        server = DuelineProcess(tmp_path, "serve", "serve", "--port", "0", db=str(db))
        started.append(server)
        url = server.wait_until_running()
        assert url is not None
        deadline = time.monotonic() + WAIT_S_MAX
        while (seen := process("doctor", "--db", str(db), "-o", "json", DUELINE_URL=url)).code:
            assert time.monotonic() < deadline, seen.out
        found = json.loads(seen.out)["findings"]
        trouble = [one for one in found if one["level"] != "ok" and one["check"] != "store.disk"]
        assert (seen.code, trouble) == (0, [])
        assert f"Process {server.pid} has" in meanings(seen, "store.file")
        table = process("doctor", DUELINE_URL=url)
        assert (table.code, "0 warning, 0 error." in table.out, "--db" in table.err) == (0, True, True)
        assert process("job", "list", DUELINE_URL=url).code == 0, "nothing was taken from the server"
        server.kill()
        dead = process("doctor", "--db", str(db), "-o", "json", DUELINE_URL=url)
        assert (dead.code, levels(dead, "store.file")) == (1, ["warning"])
        assert f"Process {server.pid} had" in meanings(dead, "store.file")
        again = process("doctor", DUELINE_DB=str(db), DUELINE_URL=url)
        assert "store.file" in again.out, "the variable names the store just as well"


def test_a_server_that_is_not_there(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    ended = examined(dueline)
    assert levels(ended, "server.reachable") == ["error"]
    assert [one["check"] for one in ended.json["findings"]] == ["keys.file", "server.reachable"]
    table = dueline("doctor")
    assert (table.code, "→ Start dueline serve" in table.out) == (1, True)


@pytest.mark.parametrize(
    ("greeting", "status", "check"),
    [(404, 404, "server.reachable"), (200, 401, "server.key"), (200, 500, "server.answers")],
)
def test_a_server_that_is_another_or_says_no(
    dueline: Command, monkeypatch: pytest.MonkeyPatch, greeting: int, status: int, check: str
) -> None:
    def answer(asked: Question) -> Answer:
        return greeting if asked.path in ("/livez", "/readyz") else status, b'{"status": "live"}'

    with SmallServer(answer) as other:
        monkeypatch.setenv("DUELINE_URL", other.url)
        assert levels(examined(dueline), check) == ["error"]
        monkeypatch.setenv("DUELINE_API_KEY", "canary")
        told = examined(dueline)
        assert (levels(told, check), "canary" in told.out) == (["error"], False)
        assert status != 401 or "The key is not accepted" in meanings(told, check)


def test_a_server_that_cannot_do_its_work(cli: Command, api: ServedApi) -> None:
    api.stopping = True
    assert levels(examined(cli), "server.ready") == ["error"]
    api.stopping = False
    assert levels(examined(cli), "server.ready") == ["ok"]


def test_a_server_without_processes_with_silent_ones_and_with_old_ones(
    cli: Command, api: ServedApi, store_clock: ShiftedClock
) -> None:
    assert levels(examined(cli), "server.processes") == ["error", "error"]
    a_process(api, "s1", Role.SCHEDULER)
    found = examined(cli)
    assert levels(found, "server.processes") == ["error", "ok"]
    assert "No process executes runs" in meanings(found, "server.processes")
    a_process(api, "w1", Role.WORKER)
    assert levels(examined(cli), "server.processes") == ["ok"]
    a_process(api, "w2", Role.WORKER, version="0.0.1")
    assert levels(examined(cli), "server.processes") == ["warning", "ok"]
    store_clock.ahead_s = 60
    silent = examined(cli)
    assert levels(silent, "server.processes") == ["error", "error", "warning"]
    assert "3 of 3 processes are not heard of" in meanings(silent, "server.processes")


@pytest.mark.parametrize(("ahead_s", "level"), [(60, "warning"), (-60, "warning"), (3_600, "error"), (-3_600, "error")])
def test_a_store_whose_clock_is_wrong(
    tmp_path: Path, dueline: Command, monkeypatch: pytest.MonkeyPatch, ahead_s: int, level: str
) -> None:
    monkeypatch.setenv("DUELINE_API_KEY", ADMIN_KEY)
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", ShiftedClock(ahead_s))) as api:
        ended = dueline("--server", api.url, "doctor", "-o", "json")
    assert (levels(ended, "server.store_clock"), levels(ended, "server.clock")) == ([level], ["ok"])
    assert ("ahead of" if ahead_s > 0 else "behind") in meanings(ended, "server.store_clock")


def test_a_machine_whose_clock_is_wrong(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(examined(cli), "server.clock") == ["ok"]
    monkeypatch.setattr(doctor, "SystemClock", lambda: ShiftedClock(60))
    ended = examined(cli)
    assert (levels(ended, "server.clock"), levels(ended, "server.store_clock")) == (["warning"], ["warning"])


def test_queues_that_nobody_serves_or_that_are_paused(cli: Command, api: ServedApi) -> None:
    assert levels(examined(cli), "server.queues") == ["ok"]
    api.call("POST", "/v1/runs", {"target": TARGET, "queue": "mail"})
    found = examined(cli)
    assert (levels(found, "server.queues"), "which no worker serves" in meanings(found, "server.queues")) == (
        ["error"],
        True,
    )
    api.on_store(lambda store: register(store, "w1", slots=1))
    assert levels(examined(cli), "server.queues") == ["ok"]
    api.call("POST", "/v1/queues/mail/pause")
    assert levels(examined(cli), "server.queues") == ["warning"]


def test_schedules_that_are_overdue(cli: Command, api: ServedApi) -> None:
    first_ms = now_ms(api) - 5 * HOUR_MS
    job = api.create(schedule={"every": "PT1H", "start_at": instant(first_ms)})
    assert levels(examined(cli), "server.schedules") == ["ok"]
    put_at(api, job, first_ms)
    found = examined(cli)
    assert levels(found, "server.schedules") == ["error"]
    assert "1 job should have fired and did not, the first for 5.0 h" in meanings(found, "server.schedules")


def test_runs_whose_worker_is_gone(cli: Command, api: ServedApi) -> None:
    run_id = api.call("POST", "/v1/runs", {"target": TARGET}).json["id"]
    claim(api)
    assert levels(examined(cli), "server.runs") == ["ok"]

    async def leave(store: Store) -> None:
        await store.leave(WORKER)

    api.on_store(leave)
    found = examined(cli)
    assert (levels(found, "server.runs"), run_id in meanings(found, "server.runs")) == (["warning"], True)


def test_dead_letters(cli: Command, api: ServedApi) -> None:
    assert levels(examined(cli), "server.dead_letters") == ["ok"]
    a_dead_letter(api)
    found = examined(cli)
    assert (levels(found, "server.dead_letters"), "1 dead letter:" in meanings(found, "server.dead_letters")) == (
        ["warning"],
        True,
    )


def test_keys_that_others_can_read(cli: Command, tmp_path: Path) -> None:
    cli("profile", "add", "a", "http://a.test")
    assert levels(examined(cli), "keys.file") == ["ok"]
    (tmp_path / "config" / "dueline" / "config.toml").chmod(0o640)
    assert levels(examined(cli), "keys.file") == ["warning"]


@pytest.mark.parametrize(
    ("off_ms", "level"),
    [
        (0, Level.OK),
        (CLOCK_MS_WARNING - 1, Level.OK),
        (CLOCK_MS_WARNING, Level.WARNING),
        (-CLOCK_MS_WARNING, Level.WARNING),
        (CLOCK_MS_ERROR - 1, Level.WARNING),
        (CLOCK_MS_ERROR, Level.ERROR),
        (-CLOCK_MS_ERROR, Level.ERROR),
    ],
)
def test_clocks_are_judged_to_the_millisecond(off_ms: int, level: Level) -> None:
    assert judge_clock("clock", "it", off_ms).level is level


@pytest.mark.parametrize(
    ("told_ms", "grain_ms", "off_ms"),
    [(100, 1, 0), (150, 1, 0), (200, 1, 0), (201, 1, 1), (98, 1, -1), (99, 1, 0), (-900, 1_000, 0), (-901, 1_000, -1)],
)
def test_an_answer_bounds_a_clock_from_both_sides(told_ms: int, grain_ms: int, off_ms: int) -> None:
    assert Asked(100, 200).off_by_ms(told_ms, grain_ms=grain_ms) == off_ms


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (9.94, "9.9 s"),
        (12.4, "12 s"),
        (60, "1.0 min"),
        (3_599, "60 min"),
        (7_200, "2.0 h"),
        (90_000, "1 days"),
    ],
)
def test_spans_are_told_for_people(seconds: float, text: str) -> None:
    assert span(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1 kB"), (2_500_000, "2.5 MB")]
)
def test_sizes_are_told_for_people(count: int, text: str) -> None:
    assert size(count) == text
