"""python -m proof.soak: real processes at half of what they can do, with accidents all along, and whether they lose or grow.

`MINUTES` (30), `RATE` (5,000 runs a second) and `SEED` say how long, how much and which accidents. The last line is all of it as JSON.
"""

from __future__ import annotations

import os
import sys
import time

import msgspec

from proof.soak.play import play
from proof.soak.verdict import page

MINUTES = 30.0
RATE = 5_000
"""Half of the recurring HTTP calls that two cores were measured to carry, with the database and the target on them."""


def main() -> int:
    seed = int(os.environ.get("SEED") or time.time_ns() % 1_000_000)
    print(f"seed {seed}", flush=True)
    verdict = play(
        minutes=float(os.environ.get("MINUTES") or MINUTES), rate=int(os.environ.get("RATE") or RATE), seed=seed
    )
    print(page(verdict))
    told = {
        "green": verdict.is_green,
        "broken": verdict.broken,
        "missed": verdict.missed,
        "growing": verdict.growing,
        "soak": verdict.soak,
        "figures": verdict.figures,
    }
    print(msgspec.json.encode(told).decode())
    return 0 if verdict.is_green else 1


if __name__ == "__main__":
    sys.exit(main())
