"""python -m proof.mutants.playing SCENARIO LASTS_S BUILD: play a scenario with the build at hand, and say which invariants it broke."""

from __future__ import annotations

import dataclasses
import sys

from proof.mutants.checks import RED, summary
from proof.scenarios import ALL
from proof.scene import play

SEED = 1


def main(scenario: str, lasts_s: float, build: str) -> int:
    (plan,) = (plan for plan in ALL if plan.name == scenario)
    verdict = play(dataclasses.replace(plan, name=f"mutants/{build}-{scenario}", lasts_s=lasts_s), SEED)
    wrong = [f"{finding.invariant}: {one}" for finding in verdict.findings for one in finding.violations]
    if wrong:
        print(f"{RED}{summary(wrong)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), sys.argv[3]))
