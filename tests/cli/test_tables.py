"""Tables at a terminal: they fit it, and what matters is there to be read."""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dueline.cli.tables import fitting
from dueline.cli.times import short_time
from dueline.domain.ids import BootId
from dueline.domain.instants import parse_instant
from dueline.domain.run import OutcomeKind
from dueline.domain.states import RunState
from dueline.runtime.clock import SystemClock
from dueline.store.protocol import Store
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import TARGET, ServedApi
from tests.cli.conftest import Command
from tests.cli.terminals import terminal
from tests.support.stores import a_finish, an_attempt, claim_one, register

WIDTHS = (80, 100, 120)
ERROR = "the target answered 404"
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    """A server with a process, and a named job that has failed."""
    folder = tmp_path_factory.mktemp("tables")
    with ServedApi(lambda: SqliteStore(folder / "dueline.db", SystemClock())) as api:
        api.on_store(lambda store: register(store, "w9", slots=4, queues=("mail",)))
        yield api


def at_terminal(api: ServedApi, home: Path, columns: int, *args: str) -> list[str]:
    """The lines that somebody sees."""
    with terminal(*args, home=home, columns=columns, DUELINE_URL=api.url, TZ="UTC") as shown:
        assert shown.exit_code() == 0, shown.seen
    lines = [_STYLES.sub("", line).rstrip() for line in shown.seen.replace("\r", "").splitlines()]
    assert all(len(line) <= columns for line in lines), lines
    return lines


def words(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


@pytest.fixture(scope="module")
def failed(api: ServedApi) -> str:
    """The id of the run."""
    job = api.call("POST", "/v1/jobs", {"target": TARGET, "name": "greeting", "queue": "mail"}).json
    run_id: str = api.call("POST", f"/v1/jobs/{job['id']}/run").json["id"]

    async def fail(store: Store) -> None:
        claimed = await claim_one(store, await register(store, BootId("w1")), queue="mail")
        attempt = an_attempt(claimed, OutcomeKind.REFUSED, status=404, error=ERROR)
        finish = msgspec.structs.replace(a_finish(claimed, RunState.FAILED), attempt=attempt)
        assert await store.finish([msgspec.structs.replace(finish, finished_ms=claimed.claimed_ms)])

    api.on_store(fail)
    api.call("POST", "/v1/runs", {"target": TARGET, "queue": "reports"})
    return run_id


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("args", [("deadletter", "list"), ("run", "list"), ("top", "--once")], ids=" ".join)
def test_what_failed_and_why_was_cut_away(
    api: ServedApi, alone: Path, failed: str, columns: int, args: tuple[str, ...]
) -> None:
    lines = at_terminal(api, alone, columns, *args)
    assert failed in words(lines)
    assert "404" in words(lines)
    assert "greeting" in words(lines)
    assert re.search(r"\b\d\d:\d\d(:\d\d)?\b", words(lines))
    assert not re.search(r"\d…|20\d\d-…", words(lines)), "no time is cut"


@pytest.mark.usefixtures("failed")
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("args", [("job", "list"), ("node", "list"), ("queue", "list"), ("key", "list")], ids=" ".join)
def test_the_other_lists_fit_and_cut_no_time(api: ServedApi, alone: Path, columns: int, args: tuple[str, ...]) -> None:
    lines = at_terminal(api, alone, columns, *args)
    assert len(lines) > 1
    assert not re.search(r"20\d\d-[^ ]*…", words(lines))


@pytest.fixture
def in_zone() -> Iterator[Callable[[str], None]]:
    """Puts this process into a zone, for as long as the test lasts."""
    with pytest.MonkeyPatch.context() as patch:

        def put(zone: str) -> None:
            patch.setenv("TZ", zone)
            time.tzset()

        yield put
    time.tzset()


@pytest.mark.usefixtures("failed")
def test_a_list_in_a_pipe_has_everything(cli: Command) -> None:
    heading, row, *_ = cli("deadletter", "list").out.splitlines()
    assert heading.split() == ["ID", "FAILED", "QUEUE", "ATTEMPT", "JOB", "REASON", "ERROR"]
    assert re.search(r" \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", row)
    assert row.rstrip().endswith(ERROR)


@pytest.mark.parametrize(
    ("zone", "at", "shown"),
    [
        ("UTC", "2026-11-17T20:04:31.250Z", "20:04:31"),
        ("UTC", "2026-11-16T20:04:31.250Z", "Nov 16 20:04"),
        ("UTC", "2026-12-01T09:00:00.000Z", "Dec 01 09:00"),
        ("UTC", "2025-11-17T20:04:31.250Z", "2025-11-17"),
        ("UTC", "2027-01-01T00:00:00.000Z", "2027-01-01"),
        ("Europe/Berlin", "2026-11-17T22:04:31.000Z", "23:04:31"),
        ("Europe/Berlin", "2026-11-17T23:04:31.000Z", "Nov 18 00:04"),
    ],
)
def test_a_time_is_short_and_in_the_zone_of_whoever_looks(
    in_zone: Callable[[str], None], zone: str, at: str, shown: str
) -> None:
    in_zone(zone)
    assert short_time(at, now_ms=parse_instant("2026-11-17T21:00:00Z", field="now")) == shown


@pytest.mark.parametrize(
    ("most", "widths"),
    [
        (64, {0: 10, 1: 20, 2: 30}),
        (63, {0: 10, 1: 20, 2: 29}),
        (40, {0: 10, 1: 13, 2: 13}),
        (30, {0: 10, 1: 8, 2: 8}),
        (29, {0: 10, 2: 17}),
        (19, {0: 10}),
        (9, {0: 10}),
    ],
)
def test_the_longest_cells_are_cut_first_and_spare_columns_go_before_cells_tell_nothing(
    most: int, widths: dict[int, int]
) -> None:
    assert fitting([10, 20, 30], [10, 8, 8], [1, 2], most) == widths


def test_the_last_column_stays_and_is_cut() -> None:
    assert fitting([30], [8], [0], 20) == {0: 20}
