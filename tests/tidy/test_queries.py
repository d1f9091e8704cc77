"""SQL keeps to the house: both dialects say the same things, every statement is used, and no state moves in secret."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from dueline.domain.events import Told
from dueline.domain.gates import Scope
from dueline.domain.states import RUN_MOVES, EndReason, HeldReason, JobState, RunKind, RunState
from dueline.store.fleet import Role
from dueline.store.queries import load_queries
from tests.tidy.dialects import ONLY_IN
from tests.tidy.tree import PACKAGE, ROOT, Source, python_sources

DIALECTS = ("postgres", "sqlite")

STATES = frozenset(RunState) | frozenset(JobState)
# Words in quotes that are no states: kinds, reasons, roles, scopes, what is told, names of settings, a kind of lock and a type of target.
OTHER_WORDS = frozenset(
    {
        *RunKind,
        *HeldReason,
        *EndReason,
        *Role,
        *Scope,
        *Told,
        "synchronous_commit",
        "off",
        "lock_timeout",
        "relation",
        "http",
    }
)

# States that a statement only counts, of runs that it does not move.
COUNTED = {"runs.claim": frozenset({RunState.HELD}), "runs.confirm_exclusive": frozenset({RunState.HELD})}

MOVE = re.compile(r"^-- move: (\w+)$", re.MULTILINE)
COMMENT = re.compile(r"--.*$", re.MULTILINE)
WORD = re.compile(r"'([a-z_]+)'")
# A comparison with a state: `state = 'x'`, `state <> 'x'`, `state IN ('x', …)`, `CASE state WHEN 'x'`.
STATE_COMPARED = re.compile(r"state\s*(?:=|<>|IN|WHEN)\s*(\((?:\s*'\w*',?)+\s*\)|'\w*')")
STATE_WRITTEN = re.compile(
    r"INSERT\s+INTO\s+(?:dueline\.)?(?:runs|history)\b"
    r"|UPDATE\s+(?:dueline\.)?runs\b(?:\s+AS\s+\w+)?\s+SET\b(?:(?!\bWHERE\b|\bFROM\b|\bRETURNING\b).)*?\bstate\s*=",
    re.DOTALL,
)
MIGRATION = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")

Statements = Mapping[str, str]
"""By noun and name: `runs.claim`."""


def statements_of(dialect: str) -> dict[str, str]:
    return {
        f"{path.stem}.{name}": text
        for path in sorted(_folder(dialect, "queries").glob("*.sql"))
        for name, text in load_queries(dialect, path.stem).items()
    }


def different(one: Statements, other: Statements, only_in_one: frozenset[str]) -> list[str]:
    """Statements that the other dialect lacks though nobody said so, and declarations that are not true."""
    lacking = set(one) - set(other)
    return [
        *(f"{name}: only one dialect has it" for name in sorted(lacking - only_in_one)),
        *(f"{name}: declared as the only one, and it is not" for name in sorted(only_in_one - lacking)),
    ]


def names_used(source: Source) -> set[str]:
    """The statements that a file asks for: `_SQL = queries("runs")`, then `_SQL["claim"]`."""
    tree = ast.parse(source.text)
    nouns: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="queries"), args=[ast.Constant(value=str(noun))]),
            ):
                nouns[name] = noun
    return {
        f"{nouns[node.value.id]}.{node.slice.value}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in nouns
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
    }


def badly_used(statements: Statements, used: set[str]) -> list[str]:
    return [
        *(f"{name}: nobody uses it" for name in sorted(set(statements) - used)),
        *(f"{name}: there is no such statement" for name in sorted(used - set(statements))),
    ]


def illegal_moves(statements: Statements) -> list[str]:
    """Moves that the table does not know, and states that a move neither leaves nor reaches."""
    findings = []
    for name, text in statements.items():
        for move in MOVE.findall(text):
            if move not in RUN_MOVES:
                findings.append(f"{name}: there is no move {move}")
                continue
            sources, destinations = RUN_MOVES[move]
            known = sources | destinations | COUNTED.get(name, frozenset())
            strange = {word for word in _words(text) if word in frozenset(RunState)} - known
            findings += [f"{name}: {move} has nothing to do with {state}" for state in sorted(strange)]
    return findings


def secret_moves(statements: Statements) -> list[str]:
    """Statements that write a run's state and do not say by which move."""
    return [
        f"{name}: which move is it?"
        for name, text in statements.items()
        if STATE_WRITTEN.search(COMMENT.sub("", text)) and len(MOVE.findall(text)) != 1
    ]


def unmade_moves(statements: Statements) -> list[str]:
    made = {move for text in statements.values() for move in MOVE.findall(text)}
    return [f"{move}: no statement makes this move" for move in RUN_MOVES if move not in made]


def strange_states(name: str, text: str) -> list[str]:
    """What a state is compared with, and is none."""
    compared = {word for part in STATE_COMPARED.findall(COMMENT.sub("", text)) for word in WORD.findall(part)}
    return [f"{name}: {word} is not a state" for word in sorted(compared - STATES)]


def unknown_words(name: str, text: str) -> list[str]:
    """Words in quotes that mean nothing here: misspelt, or not declared."""
    return [f"{name}: what is {word}?" for word in sorted(_words(text) - STATES - OTHER_WORDS)]


def misnumbered(file_names: list[str]) -> list[str]:
    """Migrations that do not count 0001, 0002, …"""
    findings = []
    for number, file_name in enumerate(sorted(file_names), start=1):
        match = MIGRATION.fullmatch(file_name)
        if match is None or int(match[1]) != number:
            findings.append(f"{file_name}: is not number {number:04}")
    return findings


def _words(text: str) -> set[str]:
    return set(WORD.findall(COMMENT.sub("", text)))


def _folder(dialect: str, name: str) -> Path:
    return ROOT / PACKAGE / "store" / dialect / name


def _using(text: str) -> set[str]:
    return names_used(Source(f"{PACKAGE}store/sqlite/runs.py", text))


def test_a_statement_of_one_dialect_alone_is_found() -> None:
    assert different({"runs.a": "", "runs.b": ""}, {"runs.a": ""}, frozenset())
    assert different({"runs.a": ""}, {"runs.a": ""}, frozenset({"runs.a"}))
    assert different({"runs.a": "", "runs.b": ""}, {"runs.a": ""}, frozenset({"runs.b"})) == []


def test_uses_are_found_under_any_name() -> None:
    assert _using('_SQL = queries("runs")\n_OTHER = queries("reads")\nf(_SQL["a"], _OTHER["b"], rows["c"])') == {
        "runs.a",
        "reads.b",
    }


def test_an_unused_and_a_missing_statement_are_found() -> None:
    assert badly_used({"runs.a": ""}, set())
    assert badly_used({}, {"runs.a"})
    assert badly_used({"runs.a": ""}, {"runs.a"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "-- move: teleport\nSELECT 1",
        "-- move: claim\nUPDATE runs SET state = 'running' WHERE state = 'held'",
        "-- move: claim\nUPDATE runs SET state = 'succeeded' WHERE state = 'ready'",
    ],
)
def test_an_illegal_move_is_found(text: str) -> None:
    assert illegal_moves({"runs.a": text})


def test_a_state_that_is_only_counted_is_not_found() -> None:
    text = "-- move: claim\nSELECT count(*) FROM runs WHERE state = 'held'"
    assert illegal_moves({"runs.claim": text}) == []
    assert illegal_moves({"runs.other": text})


def test_a_legal_move_is_not_found() -> None:
    text = "-- move: claim\n-- Not 'held'.\nUPDATE runs SET state = 'running', reason = 'overlap' WHERE state = 'ready'"
    assert illegal_moves({"runs.a": text}) == []


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE dueline.runs AS r SET token = 1, state = 'ready' WHERE id = $1",
        "WITH a AS (SELECT 1) UPDATE runs\nSET\n    state = w.next_state FROM w",
        "INSERT INTO dueline.runs (id, state) VALUES ($1, $2)",
        "INSERT INTO history (id, state) VALUES (?1, ?2)",
        "-- move: claim\n-- move: retry\nUPDATE runs SET state = 'running'",
    ],
)
def test_a_secret_move_is_found(text: str) -> None:
    assert secret_moves({"runs.a": text})


@pytest.mark.parametrize(
    "text",
    [
        "-- move: claim\nUPDATE dueline.runs SET state = 'running'",
        "UPDATE dueline.jobs SET state = 'finished'",
        "UPDATE runs SET token = 1 WHERE state = 'ready'",
        "SELECT 1 FROM runs WHERE state = 'ready'",
    ],
)
def test_a_statement_that_moves_nothing_is_not_found(text: str) -> None:
    assert secret_moves({"runs.a": text}) == []


def test_a_move_without_a_statement_is_found() -> None:
    every = {f"runs.{move}": f"-- move: {move}" for move in RUN_MOVES}
    assert unmade_moves(every) == []
    assert unmade_moves({name: text for name, text in every.items() if name != "runs.claim"})


@pytest.mark.parametrize(
    "text",
    [
        "WHERE state = 'runing'",
        "WHERE state IN ('ready', 'overlap')",
        "WHERE state <> 'adhoc'",
        "CASE r.state WHEN 'off' THEN 1 END",
    ],
)
def test_a_strange_state_is_found(text: str) -> None:
    assert strange_states("runs.a", text)


def test_an_unknown_word_is_found() -> None:
    assert unknown_words("runs.a", "THEN 'schedueld' ELSE 'ready'")


@pytest.mark.parametrize(
    "text", ["WHERE state IN ('ready', 'held') AND reason = 'overlap' AND name <> ''", "-- isn't 'nonsense'\nSELECT 1"]
)
def test_known_words_are_not_found(text: str) -> None:
    assert strange_states("runs.a", text) == []
    assert unknown_words("runs.a", text) == []


@pytest.mark.parametrize(
    "names",
    [["0002_a.sql"], ["0001_a.sql", "0003_b.sql"], ["0001_a.sql", "0001_b.sql"], ["1_a.sql"], ["0001_a.sql", "x.sql"]],
)
def test_a_gap_in_the_numbers_is_found(names: list[str]) -> None:
    assert misnumbered(names)
    assert misnumbered(["0001_a.sql", "0002_b.sql"]) == []


@pytest.mark.parametrize(("one", "other"), [("postgres", "sqlite"), ("sqlite", "postgres")])
def test_both_dialects_say_the_same(one: str, other: str) -> None:
    assert different(statements_of(one), statements_of(other), ONLY_IN[one]) == []
    nouns = [sorted(path.name for path in _folder(dialect, "queries").glob("*.sql")) for dialect in (one, other)]
    assert nouns[0] == nouns[1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_statement_is_used_and_every_use_has_a_statement(dialect: str) -> None:
    used: set[str] = set()
    for source in python_sources(f"{PACKAGE}store/{dialect}"):
        used |= names_used(source)
    assert badly_used(statements_of(dialect), used) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_runs_move_as_the_table_says(dialect: str) -> None:
    statements = statements_of(dialect)
    assert illegal_moves(statements) == []
    assert secret_moves(statements) == []
    assert unmade_moves(statements) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_state_in_sql_is_one(dialect: str) -> None:
    statements = statements_of(dialect)
    texts = {**statements, **_migrations(dialect)}
    assert [finding for name, text in texts.items() for finding in strange_states(name, text)] == []
    assert [finding for name, text in statements.items() for finding in unknown_words(name, text)] == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_migrations_are_numbered_without_gaps(dialect: str) -> None:
    migrations = _migrations(dialect)
    assert migrations != {}
    assert misnumbered(list(migrations)) == []


def _migrations(dialect: str) -> dict[str, str]:
    return {path.name: path.read_text() for path in _folder(dialect, "migrations").iterdir()}
