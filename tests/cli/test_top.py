"""`dueline top`: its frames, its cost, and the terminal that it leaves behind."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dueline.cli.frames import frame_lines
from dueline.cli.overview import COUNT_SHARE, Overview, Overviews
from dueline.runtime.clock import ManualClock, SystemClock
from dueline.sdk.client import PlainClient
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter
from tests.cli.conftest import Command
from tests.cli.terminals import ENTER, LEAVE, terminal
from tests.support.stores import register


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    """A server of this test's own: all of it is shown."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


def a_queue(name: str, **fields: Any) -> dict[str, Any]:
    queue: dict[str, Any] = {"name": name, "paused": False, "ready": 0, "running": 0, "waiting": 0, "held": 0}
    return {**queue, "rate": 0.0, "oldest_age_s": None, "workers": 0, **fields}


def a_worker(number: int, **fields: Any) -> dict[str, Any]:
    worker: dict[str, Any] = {"id": f"w{number:03}", "host": "here", "pid": number, "state": "alive", "role": "worker"}
    return {**worker, "busy": 0, "slots": 10, "queues": [], "beat_at": "2026-01-01T00:00:00.000Z", **fields}


def frame(overview: Overview, *, columns: int = 120, lines: int | None = None, colour: bool = False) -> list[str]:
    return frame_lines(overview, title="title", trouble="", columns=columns, lines=lines, colour=colour)


def test_one_frame_is_printed(cli: Command, api: ServedApi) -> None:
    api.on_store(lambda store: register(store, "w9", slots=4, queues=("mail",)))
    api.call("POST", "/v1/runs", {"target": TARGET, "queue": "mail"})
    failed = a_dead_letter(api, reason="poison")
    shown = cli("top", "--once")
    assert (shown.code, shown.err) == (0, "")
    lines = [line.split() for line in shown.out.splitlines()]
    assert ["mail", "active", "1", "0", "0", "0", "0.0/s"] in [line[:7] for line in lines]
    assert any(line[:3] == ["here:1", "alive", "worker"] and "0/4" in line for line in lines)
    assert failed in shown.out
    assert "poison" in shown.out
    assert "\x1b" not in shown.out


def test_without_a_terminal_only_one_frame_is_printed(cli: Command) -> None:
    ended = cli("top")
    assert (ended.code, ended.out, "--once" in ended.err) == (2, "", True)


def test_a_server_that_is_not_there_ends_it(dueline: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUELINE_URL", "http://127.0.0.1:9")
    assert dueline("top", "--once").code == 5


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (40, 12), (200, 60), (20, 5)])
def test_a_frame_fits_whatever_there_is_to_show(columns: int, lines: int) -> None:
    overview = Overview(
        queues=[a_queue(f"a-queue-with-a-long-name-{number}", ready=number) for number in range(100)],
        workers=[a_worker(number) for number in range(100)],
        failures=[
            {
                "finished_at": "2026-01-01T00:00:00.000Z",
                "id": "y",
                "queue": "q",
                "attempt": 1,
                "job_id": None,
                "error": "e" * 500,
                "reason": None,
            }
        ]
        * 50,
        counted_s=0.0,
    )
    shown = frame(overview, columns=columns, lines=lines)
    assert all(len(line) <= columns for line in shown)
    if lines >= 12:
        assert len(shown) <= lines
    if columns >= 80:
        assert sum("more" in line for line in shown) == 3


def test_a_small_table_leaves_its_room_to_the_others() -> None:
    overview = Overview(
        queues=[a_queue("only")], workers=[a_worker(number) for number in range(20)], failures=[], counted_s=0.0
    )
    shown = frame(overview, lines=31)
    assert sum(line.startswith("here:") for line in shown) == 20
    cut = frame(overview, lines=30)
    assert sum(line.startswith("here:") for line in cut) == 18
    assert any("2 more" in line for line in cut)


def test_what_needs_somebody_stands_first() -> None:
    overview = Overview(
        queues=[a_queue("calm"), a_queue("busy", ready=1_234, oldest_age_s=90.0, rate=12.5)],
        workers=[a_worker(1, busy=10), a_worker(2, state="expired"), a_worker(3, busy=1)],
        failures=[],
        counted_s=7.0,
    )
    text = "\n".join(frame(overview))
    assert text.index("busy ") < text.index("calm")
    assert text.index("here:2") < text.index("here:1") < text.index("here:3")
    assert "slots busy: 11 of 20" in text, "one that expired has none"
    assert "Ready: 1,234" in text
    assert "counted 7.0 s ago" in text
    assert ("██████████" in text, "█░░░░░░░░░" in text) == (True, True)


def test_nothing_of_others_reaches_the_terminal_as_it_is() -> None:
    overview = Overview(queues=[a_queue("\x1b[2J[red]x[/red]")], workers=[], failures=[], counted_s=0.0)
    text = "\n".join(frame(overview))
    assert "\x1b" not in text
    assert "[red]x[/red]" in text


class SlowClock(ManualClock):
    """A clock by which every count takes a second: it is read before, after and for the age."""

    def monotonic_s(self) -> float:
        self.advance(1)
        return super().monotonic_s()


def test_queues_are_counted_for_a_twentieth_of_the_time(api: ServedApi) -> None:
    with PlainClient(api.url) as client:
        overviews = Overviews(client, SlowClock())
        overviews.read()
        api.call("POST", "/v1/runs", {"target": TARGET, "queue": "new"})
        reads = 0
        while not overviews.read().queues:
            reads += 1
    # Each read looks at the clock twice while nothing is counted, and a count took one second.
    assert reads == pytest.approx(1 / COUNT_SHARE / 2, abs=1)


def test_it_draws_on_and_on_and_quits(api: ServedApi, alone: Path) -> None:
    with terminal("top", "--interval", "0.5", home=alone, columns=80, lines=24, DUELINE_URL=api.url) as shown:
        shown.wait_for("QUEUE")
        api.call("POST", "/v1/runs", {"target": TARGET, "queue": "fresh"})
        shown.wait_for("fresh")
        shown.type("q")
        assert (shown.exit_code(), shown.is_as_found) == (0, True)


def test_another_size_is_drawn_at_once(api: ServedApi, alone: Path) -> None:
    with terminal("top", "--interval", "3600", home=alone, columns=200, lines=24, DUELINE_URL=api.url) as shown:
        shown.wait_for("q quits")
        shown.resize(40, 24)
        shown.wait_for("…")
        shown.type("q")
        assert (shown.exit_code(), shown.is_as_found) == (0, True)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)])
def test_a_signal_leaves_the_terminal_as_it_was(api: ServedApi, alone: Path, number: int, code: int) -> None:
    with terminal("top", home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("QUEUE")
        assert not shown.is_as_found
        shown.process.send_signal(number)
        assert (shown.exit_code(), shown.is_as_found) == (code, True)


def test_a_stop_gives_the_terminal_back_and_takes_it_again(api: ServedApi, alone: Path) -> None:
    """By Ctrl-Z. There is no shell here to bring it back, so that it goes on at once."""
    with terminal("top", "--interval", "0.5", home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("QUEUE")
        shown.type("\x1a")
        shown.wait_for(LEAVE)
        shown.wait_for(ENTER, times=2)
        shown.wait_for("QUEUE", times=3)
        shown.type("q")
        assert (shown.exit_code(), shown.is_as_found) == (0, True)


def test_a_server_that_goes_away_is_told_and_waited_for(api: ServedApi, alone: Path) -> None:
    with terminal("top", "--interval", "0.5", home=alone, DUELINE_URL=api.url) as shown:
        shown.wait_for("QUEUE")
        api.stop()
        shown.wait_for("No answer: ")
        shown.type("q")
        assert (shown.exit_code(), shown.is_as_found) == (0, True)
