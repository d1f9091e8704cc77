"""That every mutant still is one: the words that it replaces are there. `make mutants` shows whether the suites find them."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from proof.mutants.building import ROOT, SOURCE, Edit, Mutant, Outgrown, build, edited
from proof.mutants.catalogue import ALL
from proof.mutants.checks import Check, Scene, Seeds, Suite, invariants_of, summary
from proof.mutants.trying import checks_of
from proof.scenarios import ALL as SCENARIOS


@pytest.mark.parametrize("mutant", ALL, ids=lambda mutant: mutant.name)
def test_every_mutant_changes_what_is_there(mutant: Mutant) -> None:
    for path, text in edited(mutant.edits).items():
        assert text != (SOURCE / path).read_text()
        if path.endswith(".py"):
            ast.parse(text)


def test_every_mutant_has_a_name_of_its_own_and_something_to_find_it() -> None:
    assert [name for name, count in Counter(mutant.name for mutant in ALL).items() if count > 1] == []
    assert [mutant.name for mutant in ALL if not mutant.checks] == []


def test_every_check_looks_at_something_that_is_there() -> None:
    scenarios = {plan.name for plan in SCENARIOS}
    for check in checks_of(ALL):
        match check:
            case Suite(paths=paths):
                assert [path for path in paths if not (ROOT / path.partition("::")[0]).exists()] == []
            case Scene(scenario=scenario):
                assert scenario in scenarios


@pytest.mark.parametrize(
    "edits",
    [
        (Edit("store/nowhere.sql", "a", "b"),),
        (Edit("domain/leases.py", "words that nobody wrote", "b"),),
        (Edit("domain/leases.py", "self", "other"),),
        (Edit("domain/leases.py", "class Silence:", "class Noise:"), Edit("domain/leases.py", "class Silence:", "")),
    ],
    ids=["no such file", "no such words", "more than once", "changed before"],
)
def test_a_mutant_that_the_product_has_outgrown_says_so(edits: tuple[Edit, ...]) -> None:
    with pytest.raises(Outgrown):
        edited(edits)


def test_a_build_is_the_product_but_for_what_is_broken(tmp_path: Path) -> None:
    environment = build((Edit("domain/leases.py", "class Silence:", "class Noise:"),), tmp_path)
    assert environment["PYTHONPATH"] == str(tmp_path)
    made = {
        path.relative_to(tmp_path / "dueline") for path in (tmp_path / "dueline").rglob("*.*") if path.suffix != ".pyc"
    }
    others = {path for path in made if (SOURCE / path).read_bytes() != (tmp_path / "dueline" / path).read_bytes()}
    assert {str(path) for path in others} == {"domain/leases.py"}
    assert "class Silence:" in (SOURCE / "domain/leases.py").read_text()


@pytest.mark.parametrize(
    ("check", "said", "found"),
    [
        (Seeds(1), "RED seed 3: I6/I7: run_1 ended twice\n", "seed 3: I6/I7: run_1 ended twice"),
        (Seeds(1), "Traceback (most recent call last):\n", None),
        (Scene("baseline", 15.0), "seed 1\nRED I9: it overlapped itself\n", "I9: it overlapped itself"),
        (
            Suite("model", ()),
            "...\nFAILED tests/a.py::test_b[1] - AssertionError: no\n",
            "tests/a.py::test_b[1] - AssertionError: no",
        ),
        (Suite("model", ()), "FAILED tests/a.py::test_b\n1 failed\n", "tests/a.py::test_b"),
        (Suite("model", ()), "3 passed in 0.1s\n", None),
    ],
)
def test_what_a_check_found_is_read_from_what_it_said(check: Check, said: str, found: str | None) -> None:
    assert check.found(said) == found


def test_a_finding_says_which_invariants_were_broken() -> None:
    assert invariants_of("seed 3: I4, I6/I7: run_1 ended twice") == "I4, I6/I7"
    assert invariants_of("I12: it does not say why") == "I12"
    assert invariants_of("tests/a.py::test_b - AssertionError") is None


def test_findings_are_summed_up_by_their_invariants() -> None:
    assert summary(["log: a step broke", "I5: early", "I12: why", "I6/I7: it ended twice"]) == "I5, I6, I7, I12: early"
    assert summary(["log: a step\n broke"]) == "log: a step broke"
