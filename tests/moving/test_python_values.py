"""Values of Python files, without running them."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from dueline.moving.entries import Unconvertible
from dueline.moving.python_values import Call, Module, Reference, Zone

CONSTANTS = "HOUR = 3600\nNAMES: list[str] = ['a']\nLOOP = LOOP\n"


def value(text: str) -> Any:
    module = Module(f"{CONSTANTS}x = {text}")
    statement: Any = module.tree.body[-1]
    return module.value(statement.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2 * HOUR + 30 // 4 - 1 / 2", 7206.5),
        ("-HOUR", -3600),
        ("(1, [2], {3})", [1, [2], {3}]),
        ("{**{'a': 1}, 'b': NAMES}", {"a": 1, "b": ["a"]}),
        ("dict(a=1)", {"a": 1}),
        ("set(range(0, 60, 20))", [0, 20, 40]),
        ("timedelta(hours=1) * 2 + timedelta(1)", timedelta(days=1, hours=2)),
        ("datetime.datetime(2026, 1, 2)", datetime(2026, 1, 2)),
        ("pytz.timezone('Europe/Berlin')", Zone("Europe/Berlin")),
        ("timezone.utc", Zone("UTC")),
        ("shop.tasks.add", Reference("shop.tasks.add")),
        ("crontab(1, hour='*')", Call("crontab", [1], {"hour": "*"}, 4)),
    ],
)
def test_a_value(text: str, found: Any) -> None:
    assert value(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "LOOP",
        "f'{HOUR}'",
        "1 / 0",
        "'a' * 3",
        "f(*NAMES)",
        "f(**x)",
        "[i for i in y]",
        "timedelta('a')",
        "{[1]: 2}",
        "not 1",
    ],
)
def test_what_cannot_be_known(text: str) -> None:
    with pytest.raises(Unconvertible, match="line"):
        value(text)
