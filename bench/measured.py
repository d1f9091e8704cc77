"""What one contender did in one round, and how rounds of several become a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from statistics import median

import msgspec

from bench.report import Result, summed_up

OURS = "ours"
FLOOR = "floor"


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One contender, one round. What it cost is told for its own processes; the database's are in `server_cpu_s`."""

    count: int
    seconds: float
    cpu_s: float = 0.0
    server_cpu_s: float = 0.0
    peak_bytes: int = 0
    notes: dict[str, float] = {}

    @property
    def rate(self) -> float:
        return self.count / self.seconds


Contender = Callable[[int], Awaitable[Measured]]
"""Does the work of one round, from a clean start, and tells how it went. It is given the number of the round; the first is to warm up."""


async def in_turns(contenders: Mapping[str, Contender], *, rounds: int) -> dict[str, list[Measured]]:
    """All contenders one after the other, and all of that again: a machine that becomes slower does so for all of them."""
    found: dict[str, list[Measured]] = {name: [] for name in contenders}
    for number in range(rounds + 1):
        for name, contender in contenders.items():
            found[name].append(await contender(number))
    return {name: measured[1:] for name, measured in found.items()}


def compared(name: str, found: Mapping[str, list[Measured]], *, floor_is: str = "", wanted: str = "") -> Result:
    """Medians of rates. Whether the result is what is wanted is for the caller to say."""
    rates = {who: [one.rate for one in measured] for who, measured in found.items()}
    middle, spread = summed_up(rates[OURS])
    notes = {}
    for who, measured in found.items():
        million = 1_000_000 / measured[-1].count
        notes[f"{who}: CPU s per million"] = median(one.cpu_s for one in measured) * million
        notes[f"{who}: server CPU s per million"] = median(one.server_cpu_s for one in measured) * million
        notes[f"{who}: peak MB"] = max(one.peak_bytes for one in measured) / 1e6
    return Result(
        name=name,
        ours=middle,
        unit="runs/s",
        floor=median(rates[FLOOR]) if FLOOR in rates else None,
        floor_is=floor_is,
        spread=spread,
        peers={who: median(some) for who, some in rates.items() if who not in (OURS, FLOOR)},
        wanted=wanted,
        notes={note: value for note, value in notes.items() if value},
    )
