"""python -m bench.growth.guide: the figures and the picture of the capacity guide, written anew from what was measured last."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from bench.growth.costs import Cost, total
from bench.growth.curves import FIGURES
from bench.growth.hotpath import CARRYING_OUT, FIRING
from bench.growth.needs import LOG, REST
from bench.growth.picture import PICTURE
from bench.report import RESULTS

GUIDE = Path(__file__).parents[2] / "docs" / "operating" / "capacity.md"
_BLOCK = "<!-- {}: by make capacity -->\n"
_PEAK = 50_000
_SCHEDULES = 10_000_000
_USUAL = 1_000_000
"""Jobs for which costs are told. What more of them cost is told apart."""
_BUSY = 0.7
"""How busy machines are planned to be: what is left is for peaks, vacuums, and the machine that is missing."""
_CORES = 8
_TIMES = "\N{MULTIPLICATION SIGN}"
_WORKERS = {
    "carry out HTTP calls": "drain_http_pg",
    "carry out tasks": "drain_task_pg",
    "carry out nothing": "drain_noop_pg",
}
_BULK = "enqueue_bulk_api_pg"


class Missing(Exception):
    """Something that was not measured."""


class Figures:
    """What was measured last, by `make bench` and by `make growth`."""

    def __init__(self, bench: Any, growth: Any) -> None:
        if bench["quick"] or growth["quick"]:
            raise Missing("anything without QUICK=1")
        self._results = {row["name"]: row for row in bench["results"]}
        self._subjects = {row["name"]: row for row in growth["growth"]}
        self.needs: Mapping[str, float] = growth["needs"]
        self.largest = max(self._sizes())
        self.usual = min(_USUAL, self.largest)
        if not self.needs:
            raise Missing("make growth ONLY=jobs,needs")

    def at(self, what: str, jobs: int) -> Cost:
        """One step of the hot path, with so many jobs."""
        (curve,) = (curve for curve in self._subjects["jobs"]["curves"] if curve["what"] == what)
        (point,) = (point for point in curve["points"] if point["at"] == jobs)
        return msgspec.convert(point["cost"], Cost)

    def firing(self, jobs: int) -> Cost:
        return total(self.at(what, jobs) for what in FIRING)

    def bench(self, name: str) -> Cost:
        """Of a run, as a scenario of `make bench` has it."""
        if name not in self._results:
            raise Missing("make bench ONLY=drain_noop_pg,drain_task_pg,drain_http_pg,enqueue_bulk_pg")
        ours = self._results[name]["contenders"]["ours"]
        return Cost(ours_us=ours["cpu_s_per_million"], server_us=ours["server_cpu_s_per_million"], wall_us=0.0)

    @property
    def busy_mb(self) -> float:
        """The most that one of two workers had."""
        return float(self._results["drain_http_pg"]["contenders"]["ours"]["peak_mb"]) / 2

    def _sizes(self) -> list[int]:
        if "jobs" not in self._subjects:
            raise Missing("make growth ONLY=jobs,needs")
        return [point["at"] for point in self._subjects["jobs"]["curves"][0]["points"]]


def runs(figures: Figures) -> Iterator[str]:
    """What a run costs whom."""
    yield "| to | process | µs of it | runs/s for a core of it | µs of PostgreSQL | runs/s for a core of PostgreSQL |"
    yield "| --- | --- | --- | --- | --- | --- |"
    rows = {
        ("fire a schedule", "scheduler"): figures.firing(figures.usual),
        ("take runs in bulk calls", "api"): figures.bench(_BULK),
        **{(what, "worker"): figures.bench(name) for what, name in _WORKERS.items()},
    }
    for (what, process), cost in rows.items():
        yield (
            f"| {what} | {process} | {cost.ours_us:.0f} | {1e6 / cost.ours_us:,.0f} "
            f"| {cost.server_us:.0f} | {1e6 / cost.server_us:,.0f} |"
        )


def kept(figures: Figures) -> Iterator[str]:
    """What lies on disk, and what goes through the log."""
    yield "| what | bytes |"
    yield "| --- | --- |"
    for name, value in figures.needs.items():
        if name.startswith("bytes"):
            yield f"| {name.removeprefix('bytes ')} | {value:,.0f} |"


def processes(figures: Figures) -> Iterator[str]:
    """What a process has that does nothing."""
    yield "| process | MB at rest | connections at rest |"
    yield "| --- | --- | --- |"
    for name, value in figures.needs.items():
        if name.startswith("MB of "):
            role = name.removeprefix("MB of ").removesuffix(REST)
            connections = figures.needs.get(f"connections of {role}{REST}")
            yield f"| {role} | {value:.0f} | {'none' if connections is None else f'{connections:.0f}'} |"
    yield ""
    yield f"A worker that carries out HTTP calls as fast as it can had up to {figures.busy_mb:.0f} MB."


def peak(figures: Figures) -> Iterator[str]:
    """Machines for so many HTTP calls of schedules a second."""
    firing, call = figures.firing(figures.usual), figures.bench("drain_http_pg")
    # A worker reads definitions too.
    steps = (*FIRING, *CARRYING_OUT, "definitions")
    server_us = total(figures.at(what, figures.usual) for what in steps).server_us
    yield f"| at {_PEAK:,} runs/s | µs a run | cores busy | processes, each {_BUSY * 100:.0f} % busy |"
    yield "| --- | --- | --- | --- |"
    for who, cost_us in (("schedulers", firing.ours_us), ("workers", call.ours_us)):
        yield f"| {who} | {cost_us:.0f} | {_cores(cost_us):.1f} | {ceil(_cores(cost_us) / _BUSY)} |"
    yield f"| PostgreSQL | {server_us:.0f} | {_cores(server_us):.1f} | |"
    ours = _cores(firing.ours_us + call.ours_us)
    log_bytes = sum(figures.needs[LOG.format(what, "between checkpoints")] for what in ("fire", "claim and finish"))
    row_bytes = figures.needs["bytes a finished run of a job"]
    yield ""
    machines = ceil(ours / _BUSY / _CORES)
    yield (
        f"* Schedulers and workers: {ours:.1f} cores ÷ {_BUSY} = {ours / _BUSY:.1f} cores: "
        f"{machines} machine{'s' * (machines > 1)} of {_CORES} cores."
    )
    yield (
        f"* PostgreSQL: {_cores(server_us):.1f} cores ÷ {_BUSY} = {_cores(server_us) / _BUSY:.1f} cores, all in one machine, as far as its "
        "work spreads over them."
    )
    yield f"* Log: {log_bytes:,.0f} bytes {_TIMES} {_PEAK:,} = {log_bytes * _PEAK / 1e6:,.0f} MB/s, and all of it is waited for."
    yield (
        f"* History: {row_bytes:,.0f} bytes {_TIMES} {_PEAK:,} = {row_bytes * _PEAK / 1e6:,.0f} MB/s, or "
        f"{row_bytes * _PEAK * 3_600 / 1e9:,.0f} GB for an hour of it, kept for `history_days`."
    )


def schedules(figures: Figures) -> Iterator[str]:
    """What very many schedules take, whether they fire or not."""
    job_bytes = figures.needs["bytes a job, with its plan"]
    few, many = figures.firing(figures.usual), figures.firing(figures.largest)
    yield f"* Disk: {job_bytes:,.0f} bytes {_TIMES} {_SCHEDULES:,} = {job_bytes * _SCHEDULES / 1e9:,.1f} GB."
    yield (
        f"* To fire one costs {few.cpu_us:.0f} µs where there are {figures.usual:,} and {many.cpu_us:.0f} µs where there are "
        f"{figures.largest:,}, of the scheduler and PostgreSQL together."
    )
    for name, period_s in (("a day", 86_400), ("an hour", 3_600), ("a quarter of an hour", 900)):
        rate = _SCHEDULES / period_s
        yield f"* Once {name}: {rate:,.0f} runs/s on average, {rate * many.cpu_us / 1e6:.2f} cores to fire them."


def _cores(cost_us: float) -> float:
    return _PEAK * cost_us / 1e6


def written(text: str, figures: Figures) -> str:
    """The guide with its figures."""
    for block in (runs, kept, processes, peak, schedules):
        begin, end = _BLOCK.format(block.__name__), _BLOCK.format(f"end of {block.__name__}")
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise RuntimeError(f"the guide has no place for {block.__name__}")
        body = "\n".join(block(figures))
        text = f"{before}{begin}\n{body}\n\n{end}{rest.partition(end)[2]}"
    return text


def main() -> int:
    try:
        bench, growth = (msgspec.json.decode(path.read_bytes()) for path in (RESULTS, FIGURES))
        GUIDE.write_text(written(GUIDE.read_text(), Figures(bench, growth)))
        GUIDE.with_name(PICTURE.name).write_bytes(PICTURE.read_bytes())
    except (Missing, FileNotFoundError) as error:
        print(f"this was not measured: {error}", file=sys.stderr)
        return 1
    print(f"{GUIDE.name} has the figures of {FIGURES.name} and {RESULTS.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
