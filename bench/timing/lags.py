"""Lags: how long after its time something arrived, by the clock of where it arrived."""

from __future__ import annotations

import asyncio
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar

STARTS = "starts"
"""Where the tasks of `bench.timing.app` note when they start, in the folder that is their home."""
_POLL_S = 0.1
_PATIENCE = (1.0, 2.0, 4.0)
T = TypeVar("T")


def starts_s(folder: Path) -> list[float]:
    """When tasks started, in seconds since 1970."""
    file = folder / STARTS
    return [start[0] for start in struct.iter_unpack("d", file.read_bytes())] if file.exists() else []


def starts_count(folder: Path) -> int:
    file = folder / STARTS
    return file.stat().st_size // 8 if file.exists() else 0


async def wait_until(done: Callable[[], bool], *, timeout_s: float, poll_s: float = _POLL_S) -> bool:
    """Whether it came to that in time."""
    deadline = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(poll_s)
    return True


async def sleep_until_ms(at_ms: float) -> None:
    await asyncio.sleep(max(at_ms / 1000 - time.time(), 0))


class TooBusy(RuntimeError):
    """The time had come before everything was prepared for it, so the figure would tell of the preparation."""


def check_ahead(at_ms: float) -> None:
    if time.time() * 1000 > at_ms:
        raise TooBusy("the machine is too busy for this measurement")


async def patiently(folder: Path, measure: Callable[[Path, float], Awaitable[T]]) -> T:
    """Measure in a folder of its own, with so many times the usual time to prepare: again with more where that was not enough."""
    for patience in _PATIENCE:
        try:
            return await measure(Path(mkdtemp(dir=folder)), patience)
        except TooBusy as error:
            print(f"  {error}; once more with more time", file=sys.stderr)
    return await measure(Path(mkdtemp(dir=folder)), 2 * _PATIENCE[-1])


def quantile(samples: Sequence[float], share: float) -> float:
    """The least that is not below such a share of all."""
    ordered = sorted(samples)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
