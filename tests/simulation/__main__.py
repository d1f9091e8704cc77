"""Many seeds on all cores, or one of them again with its trace. Tells what failed and how to see it again; the last line is JSON."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import islice
from pathlib import Path

import msgspec

from tests.simulation.trace import Fact, Fault
from tests.simulation.world import Report, processes_of, simulate

SEEDS_DEFAULT = 100
SEEDS_THAT_MEET_ALL = 100
"""So many seeds must have met every fault and every fact: otherwise the simulation has become tame."""
HOURS_DEFAULT = 0.1
"""Of trouble, for each seed; the peace after it comes on top."""
_FINDINGS_SHOWN = 5
_TEN_MINUTES_S = 600


def main() -> int:
    seeds = int(os.environ.get("SEEDS") or SEEDS_DEFAULT)
    hours = float(os.environ.get("HOURS") or HOURS_DEFAULT)
    only = os.environ.get("SEED")
    if only:
        return replay(int(only), hours)
    return run_many(seeds, hours)


def replay(seed: int, hours: float) -> int:
    report = simulate(seed, minutes=hours * 60, keep=True)
    path = Path(f"simulation-{seed}.trace")
    path.write_text(report.trace)
    print(f"seed {seed}: {report.runs} runs, {report.hits} hits, digest {report.digest}, trace in {path}")
    for finding in report.wrong:
        print(f"  {finding}")
    return 1 if report.wrong else 0


def run_many(seeds: int, hours: float) -> int:
    began_s = time.monotonic()
    total = Total()
    # Nothing that is there by now ever goes: no look for garbage has to walk through it, in any of the processes.
    gc.freeze()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        # The largest first, so that none of them is left to the end when the other cores have nothing to do any more.
        order = sorted(range(1, seeds + 1), key=processes_of, reverse=True)
        for done in as_completed([pool.submit(simulate, seed, minutes=hours * 60) for seed in order]):
            report = done.result()
            total.add(report)
            if report.wrong:
                print(f"seed {report.seed} failed; again: make sim SEED={report.seed} HOURS={hours:g}")
                for finding in islice(report.wrong, _FINDINGS_SHOWN):
                    print(f"  {finding}")
                sys.stdout.flush()
    took_s = time.monotonic() - began_s
    for line in total.lines():
        print(line)
    print(msgspec.json.encode(total.figures(took_s)).decode())
    bitten = seeds < SEEDS_THAT_MEET_ALL or not total.missing()
    return 0 if bitten and not total.failures else 1


class Total:
    """What many seeds did together."""

    def __init__(self) -> None:
        self.seeds = self.runs = self.hits = 0
        self.failures: list[int] = []
        self.process_s = 0.0
        self.faults: Counter[Fault] = Counter()
        self.facts: Counter[Fact] = Counter()

    def add(self, report: Report) -> None:
        self.seeds += 1
        self.runs += report.runs
        self.hits += report.hits
        self.process_s += report.process_s
        self.faults.update(report.faults)
        self.facts.update(report.facts)
        if report.wrong:
            self.failures.append(report.seed)

    def missing(self) -> list[str]:
        """Faults that never happened, and facts that never came of them."""
        return [*(fault for fault in Fault if not self.faults[fault]), *(fact for fact in Fact if not self.facts[fact])]

    def lines(self) -> Iterator[str]:
        for fault, times in self.faults.most_common():
            yield f"fault {times:>9}  {fault}"
        for fact, times in self.facts.most_common():
            yield f"fact  {times:>9}  {fact}"
        for name in self.missing():
            yield f"never            {name}"

    def figures(self, took_s: float) -> dict[str, object]:
        node_hours = self.process_s / 3600
        return {
            "seeds": self.seeds,
            "failures": sorted(self.failures),
            "runs": self.runs,
            "hits": self.hits,
            "node_hours": round(node_hours, 1),
            "seconds": round(took_s, 1),
            "node_hours_per_10_min": round(node_hours * _TEN_MINUTES_S / took_s),
            "faults": {str(fault): self.faults[fault] for fault in Fault},
            "facts": {str(fact): self.facts[fact] for fact in Fact},
        }


if __name__ == "__main__":
    sys.exit(main())
