"""What one contender did in one round, and how rounds of several become a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from statistics import median

import msgspec

from bench.report import Figures, Result, summed_up

OURS = "ours"
FLOOR = "floor"


class Absent(Exception):
    """A contender that does not take part, and why."""


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

    def noting(self, notes: Mapping[str, float]) -> Measured:
        """The same, with what else is worth telling."""
        return msgspec.structs.replace(self, notes=self.notes | dict(notes))


Contender = Callable[[], Awaitable[Measured]]
"""Does the work of one round, from a clean start, and tells how it went."""


async def in_turns(
    contenders: Mapping[str, Contender], *, rounds: int, warm_up: bool = True, once: Collection[str] = ()
) -> dict[str, list[Measured]]:
    """All contenders one after the other, and all of that again: a machine that becomes slower does so for all of them.

    With `warm_up` there is one round more, of which nothing is kept. Those who are far behind take part in the last round only (`once`): it
    takes them longer than all others together, and nobody compares with them by the percent. Who turns out to be absent is left out, and
    the others go on.
    """
    found: dict[str, list[Measured]] = {name: [] for name in contenders}
    for number in reversed(range(rounds + warm_up)):
        for name in [name for name in found if number == 0 or name not in once]:
            try:
                found[name].append(await contenders[name]())
            except Absent as absent:
                print(f"  {name} is absent: {absent}")
                del found[name]
    return {name: measured[-rounds:] for name, measured in found.items()}


def compared(name: str, found: Mapping[str, list[Measured]], *, floor_is: str = "", wanted: str = "") -> Result:
    """Medians of rates. Whether the result is what is wanted is for the caller to say."""
    figures = {who: _figures(measured) for who, measured in found.items()}
    ours = figures[OURS]
    notes = {
        f"{who}: {note}": median(one.notes[note] for one in measured)
        for who, measured in found.items()
        for note in measured[-1].notes
    }
    if FLOOR in found:
        # Round by round: what the machine did to both is not in it.
        ratios = [one.rate / floor.rate for one, floor in zip(found[OURS], found[FLOOR], strict=True)]
        notes |= {"of the floor, least of the rounds": min(ratios), "of the floor, most of the rounds": max(ratios)}
    return Result(
        name=name,
        ours=ours.middle,
        unit="runs/s",
        floor=figures[FLOOR].middle if FLOOR in figures else None,
        floor_is=floor_is,
        spread=(ours.least, ours.most),
        peers={who: some.middle for who, some in figures.items() if who not in (OURS, FLOOR)},
        wanted=wanted,
        notes=notes,
        contenders=figures,
    )


def beside(ours: Sequence[Measured], other: Sequence[Measured], name: str) -> dict[str, float]:
    """Notes of somebody who is no peer, and of what we are beside them, round by round."""
    figures = _figures(other)
    return {
        f"{name}, runs/s": figures.middle,
        f"{name}, CPU s per million": figures.cpu_s_per_million + figures.server_cpu_s_per_million,
        f"ours, of {name}": median(one.rate / floor.rate for one, floor in zip(ours, other, strict=True)),
    }


def _figures(measured: Sequence[Measured]) -> Figures:
    middle, (least, most) = summed_up([one.rate for one in measured])
    million = 1_000_000 / measured[-1].count
    return Figures(
        middle=middle,
        least=least,
        most=most,
        cpu_s_per_million=median(one.cpu_s for one in measured) * million,
        server_cpu_s_per_million=median(one.server_cpu_s for one in measured) * million,
        peak_mb=max(one.peak_bytes for one in measured) / 1e6,
    )


def judged(result: Result, *, of_floor: float | None = None, of_best_peer: float | None = None) -> Result:
    """The result, held against what is wanted of it. A peer that is absent is nothing to be faster than."""
    wanted, holds = [], True
    if of_floor is not None and result.floor is not None:
        wanted.append(f"at least {of_floor:.2f} of the floor")
        holds = result.ours >= of_floor * result.floor
    if of_best_peer is not None:
        wanted.append(f"at least {of_best_peer:.1f} times the best peer")
        holds = holds and result.ours >= of_best_peer * max(result.peers.values(), default=0.0)
    return msgspec.structs.replace(result, wanted=", ".join(wanted), holds=holds)
