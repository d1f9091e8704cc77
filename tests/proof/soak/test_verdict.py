"""The judge of a soak finds what is lost, strange, early, unexplained or growing, and nothing where all is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from proof.records import Hit
from proof.soak.picture import picture
from proof.soak.records import Sample
from proof.soak.trends import MB
from proof.soak.verdict import SoakVerdict, judge, page
from tests.proof.logs import BEGIN_S
from tests.proof.soak.soaking import AGAIN, attempt, evidence, hit, hits, run_again, samples


def judged(folder: Path, seen: list[Hit] | None = None, **other: Any) -> SoakVerdict:
    return judge(evidence(folder, hits() if seen is None else seen, **other))


def without(run: str) -> list[Hit]:
    return [one for one in hits() if one.run != run]


def test_where_all_is_well_nothing_is_found(tmp_path: Path) -> None:
    verdict = judged(tmp_path)
    assert [finding for finding in verdict.findings if finding.violations] == []
    assert verdict.is_green
    assert verdict.figures["demanded"] == 361
    assert verdict.figures["called_again"] == 1
    assert verdict.figures["lag_p95_outside_ms"] == pytest.approx(4, abs=1)
    assert "GREEN" in page(verdict)


@pytest.mark.parametrize(
    ("invariant", "seen"),
    [
        ("I1", without("run_every-2_17")),
        ("I1", without("run_once")),
        ("I1", without("run_adhoc")),
        ("I1", without("run_now")),
        ("I2", [*hits(), hit("every-9", "run_odd", 30)]),
        ("I2", [*hits(), hit("every-2", "run_odd", 31)]),
        ("I4", [*hits(), hit("every-1", AGAIN, 900, late_s=12, attempt=3)]),
        ("I3", [*hits(), hit("every-1", AGAIN, 900, late_s=9.5, attempt=2)]),
        ("I5", [*without("run_every-2_17"), hit("every-2", "run_every-2_17", 175, late_s=-0.02)]),
    ],
)
def test_what_the_target_saw_is_counted(tmp_path: Path, invariant: str, seen: list[Hit]) -> None:
    assert invariant in judged(tmp_path, sorted(seen, key=lambda one: one.at_s)).broken


@pytest.mark.parametrize(
    "members",
    [
        {"live": 1},
        {"both": 1},
        {"dead_letters": 1},
        {"ended": {"scheduled succeeded": 360, "adhoc succeeded": 1, "manual succeeded": 1}},
        {"ended": {"scheduled succeeded": 361, "adhoc succeeded": 2, "manual succeeded": 1}},
        {"ended": {"scheduled succeeded": 360, "scheduled failed": 1, "adhoc succeeded": 1, "manual succeeded": 1}},
    ],
)
def test_the_tables_have_to_count_the_same(tmp_path: Path, members: dict[str, Any]) -> None:
    soak = msgspec.structs.replace(evidence(tmp_path, hits()).soak, **members)
    assert judged(tmp_path, soak=soak).broken == ["I14"]


def test_a_second_call_needs_an_attempt_that_was_lost_and_an_accident(tmp_path: Path) -> None:
    succeeded = [attempt(1, 900, 0.05, "succeeded"), *run_again().attempts[1:]]
    twice = msgspec.structs.replace(run_again(), attempts=succeeded)
    assert "I4" in judged(tmp_path, runs=[twice]).broken
    assert "I4" in judged(tmp_path, faults=[]).broken


def test_accidents_have_to_be_there(tmp_path: Path) -> None:
    assert "I17" in judged(tmp_path, faults=[]).broken


def test_what_grows_and_what_is_late_is_told(tmp_path: Path) -> None:
    leaking = [
        Sample(sample.at_s, sample.values | {"memory worker-1": 80 * MB + (sample.at_s - BEGIN_S) * 0.02 * MB})
        for sample in samples()
    ]
    verdict = judged(tmp_path, samples=leaking)
    assert verdict.growing == ["memory worker-1"]
    assert "✗ memory worker-1" in page(verdict)
    late = [msgspec.structs.replace(one, at_s=one.at_s + 0.4) for one in hits()]
    assert len(judged(tmp_path, late).missed) == 1


def test_the_picture_has_a_line_for_each_process_and_a_band_for_each_accident(tmp_path: Path) -> None:
    drawn = picture(evidence(tmp_path, hits()))
    assert drawn.startswith("<svg")
    assert drawn.count('class="fault"') == 1
    assert drawn.count('<polyline class="worker"') == 2
