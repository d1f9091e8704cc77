"""Logs: one line an event."""

import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from dueline.runtime.log import get_log, set_up_log


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Other tests log with what was set up before."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**before)
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_is_one_object_a_line_also_with_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(level="info", form="json")
    log = get_log("test")
    log.info("job fired", job_id="job_1", count=3)
    try:
        raise ValueError("two\nlines")
    except ValueError:
        log.exception("step broke")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert {"event": "job fired", "level": "info", "job_id": "job_1", "count": 3}.items() <= first.items()
    assert first["timestamp"].endswith("Z")
    assert "ValueError: two\nlines" in second["exception"]


def test_what_libraries_say_is_among_the_other_lines(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(level="info", form="json")
    foreign = logging.getLogger("asyncpg")
    foreign.info("too much")
    try:
        raise ConnectionError("gone")
    except ConnectionError:
        foreign.warning("cannot reach %s", "it", exc_info=True)
    (line,) = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (line["event"], line["level"], line["logger"]) == ("cannot reach it", "warning", "asyncpg")
    assert "ConnectionError: gone" in line["exception"]


def test_text_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(level="info", form="text")
    get_log("test").info("job fired", job_id="job_1")
    line = capsys.readouterr().err
    assert "job fired" in line
    assert "job_id=job_1" in line
    assert "\x1b[" not in line


@pytest.mark.parametrize("level", ["warning", "WARNING"])
def test_what_is_below_the_level_is_not_written(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(level=level, form="json")
    log = get_log("test")
    log.info("quiet")
    log.warning("loud")
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["loud"]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(KeyError):
        set_up_log(level="chatty", form="json")
