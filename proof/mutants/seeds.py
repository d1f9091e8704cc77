"""python -m proof.mutants.seeds COUNT MINUTES: simulate seeds one after the other, up to the first in which something is wrong."""

from __future__ import annotations

import sys

from proof.mutants.checks import RED, summary
from tests.simulation.world import simulate


def main(count: int, minutes: float) -> int:
    for seed in range(1, count + 1):
        wrong = simulate(seed, minutes=minutes).wrong
        if wrong:
            print(f"{RED}seed {seed}: {summary(wrong)}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), float(sys.argv[2])))
