"""The rules of the house hold, and each of them can fail."""

from collections.abc import Callable, Iterator

import pytest

from tests.tidy import rules
from tests.tidy.rules import Finding
from tests.tidy.tree import Source, python_sources

Rule = Callable[[Source], Iterator[Finding]]

EVERYWHERE = ("src", "tests", "bench", "proof", "examples")
# The tests, the bench and the examples stand outside of the system: they may look at the clock and print.
RULES: list[tuple[Rule, tuple[str, ...]]] = [
    (rules.long_files, EVERYWHERE),
    (rules.long_functions, EVERYWHERE),
    (rules.vague_names, EVERYWHERE),
    (rules.reaching, ("src",)),
    (rules.printing, ("src",)),
    (rules.broad_excepts, EVERYWHERE),
    (rules.unfinished, EVERYWHERE),
    (rules.bare_silences, EVERYWHERE),
    (rules.built_queries, EVERYWHERE),
]

ENGINE = "src/dueline/engine/scheduler.py"
BODY = "    pass\n"

BAD: list[tuple[Rule, str, str]] = [
    (rules.long_files, ENGINE, "\n" * 401),
    (rules.long_functions, ENGINE, "def f():\n" + BODY * 70),
    (rules.long_functions, ENGINE, "class C:\n  async def f():\n" + BODY * 70),
    (rules.vague_names, "src/dueline/engine/utils.py", ""),
    (rules.vague_names, "tests/engine/helpers.py", ""),
    (rules.reaching, ENGINE, "import time\ntime.time()"),
    (rules.reaching, ENGINE, "import time as clock\nclock.monotonic()"),
    (rules.reaching, ENGINE, "from time import sleep\nsleep(1)"),
    (rules.reaching, ENGINE, "import time\nread = time.monotonic"),
    (rules.reaching, ENGINE, "import datetime\ndatetime.datetime.now(datetime.UTC)"),
    (rules.reaching, ENGINE, "from datetime import datetime as dt\ndt.utcnow()"),
    (rules.reaching, ENGINE, "import random\nrandom.random()"),
    (rules.reaching, ENGINE, "from random import choice\nchoice([1])"),
    (rules.reaching, ENGINE, "import os\nos.environ['HOME']"),
    (rules.reaching, ENGINE, "from os import getenv\ngetenv('HOME')"),
    (rules.reaching, "src/dueline/runtime/clock.py", "import os\nos.getenv('HOME')"),
    (rules.reaching, "src/dueline/config.py", "import time\ntime.time()"),
    (rules.reaching, "src/dueline/domain/ids.py", "import uuid\nuuid.uuid4()"),
    (rules.printing, ENGINE, "print('hello')"),
    (rules.printing, ENGINE, "say = print"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept:\n    pass"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept Exception:\n    pass"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept (ValueError, BaseException) as error:\n    pass"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept Exception:  # reason:\n    pass"),
    (rules.unfinished, ENGINE, "x = 1  # TO" + "DO: more"),
    (rules.unfinished, ENGINE, "# FIX" + "ME"),
    (rules.bare_silences, ENGINE, "import os  # noqa"),
    (rules.bare_silences, ENGINE, "x: int = ''  # type: ignore"),
    (rules.bare_silences, ENGINE, "# ruff: noqa\n"),
    (rules.built_queries, ENGINE, "db.execute(f'SELECT {column} FROM runs')"),
    (rules.built_queries, ENGINE, "await db.fetch('SELECT * FROM ' + table)"),
    (rules.built_queries, ENGINE, "db.fetchrow(SELECT + ' LIMIT 1')"),
    (rules.built_queries, ENGINE, "db.execute('SELECT %s' % column)"),
    (rules.built_queries, ENGINE, "db.execute('SELECT {}'.format(column))"),
    (rules.built_queries, ENGINE, "query = f'DROP TABLE {table}'\ndb.execute(query)"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (rules.long_files, ENGINE, "\n" * 400),
    (rules.long_functions, ENGINE, "def f():\n" + BODY * 69),
    (rules.reaching, "src/dueline/runtime/clock.py", "import time\ntime.time()"),
    (rules.reaching, "src/dueline/config.py", "import os\nos.environ"),
    (rules.reaching, ENGINE, "from datetime import datetime\ndatetime.fromtimestamp(0)"),
    (rules.reaching, ENGINE, "clock.time()\nself.time.monotonic()"),
    (rules.printing, "src/dueline/cli/main.py", "print('hello')"),
    (rules.broad_excepts, "src/dueline/runtime/loop.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept Exception:  # reason: user code runs here.\n    pass"),
    (rules.broad_excepts, ENGINE, "try:\n    f()\nexcept ValueError:\n    pass"),
    (rules.unfinished, ENGINE, "x = 'TO" + "DO'"),
    (rules.bare_silences, ENGINE, "import os  # noqa: F401\nx: int = ''  # type: ignore[assignment]"),
    (rules.built_queries, ENGINE, "db.execute('SELECT 1')\ndb.fetch(queries.claim, n + 1)"),
    (rules.built_queries, ENGINE, "client.fetch(offset + size)"),
]


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_a_bad_example_is_found(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text)))


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_a_good_example_is_not_found(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text))) == []


def test_every_rule_has_a_bad_example() -> None:
    assert {rule for rule, _, _ in BAD} == {rule for rule, _ in RULES}


@pytest.mark.parametrize(("rule", "tops"), RULES)
def test_the_tree_keeps_the_rule(rule: Rule, tops: tuple[str, ...]) -> None:
    findings = [
        f"{source.path}:{line}: {message}" for source in python_sources(*tops) for line, message in rule(source)
    ]
    assert findings == []
