"""The example of the guide to tasks, imported, tested and carried out as it stands there."""

import contextlib
import re
import sys
from pathlib import Path

import pytest

from dueline.domain import limits
from dueline.domain.run import OutcomeKind
from dueline.tasks.context import Context
from dueline.tasks.loading import load_app
from tests.support.task_caller import TaskCaller

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "tasks.md"
TEXT = GUIDE.read_text()

pytest_plugins = ["pytester"]


def examples() -> dict[str, str]:
    return dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", TEXT, re.DOTALL))


def test_the_tests_of_the_guide_pass(pytester: pytest.Pytester) -> None:
    found = examples()
    pytester.makepyfile(**found)
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=found["test_shop_tasks"].count("def test_"))


@pytest.mark.parametrize("processes", [0, 1])
async def test_a_worker_carries_the_tasks_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: int) -> None:
    (tmp_path / "shop_tasks.py").write_text(examples()["shop_tasks"])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop_tasks", raising=False)
    with contextlib.closing(TaskCaller(load_app("shop_tasks:app"), processes=processes)) as caller:
        report = await caller.call("report", day="2026-01-01", recipients=["ada", "bob"])
        assert report.outcome.result == '{"sent":2}'
        assert (await caller.call("charge", customer="ada", cents=0)).outcome.kind is OutcomeKind.REFUSED
        assert (await caller.call("charge", customer="busy", cents=5)).outcome.retry_after_ms == 600_000
        assert (await caller.call("shop_tasks.add", a=1)).outcome.result == "2"
    sys.modules.pop("shop_tasks")


def test_the_context_is_told_in_full() -> None:
    public = {name for name in vars(Context) if not name.startswith("_")}
    assert {name for name in public if not re.search(rf"`{name}\b", TEXT)} == set()


def test_the_numbers_are_those_of_the_limits() -> None:
    assert f"within {limits.TASK_GRACE_S:g} s" in TEXT
    assert f"`checkpoint_data` | keep up to {limits.CHECKPOINT_BYTES_MAX // 1024} KiB" in TEXT
    assert f"Arguments may have {limits.PAYLOAD_BYTES_MAX // 1024} KiB" in TEXT
    assert f"more than\n{limits.RESPONSE_KEPT_BYTES // 1024} KiB" in TEXT
    assert f"up to {limits.RUNS_PER_CALL_MAX:,}" in TEXT
