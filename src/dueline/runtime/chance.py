"""Randomness. Nothing else in Dueline draws it."""

from __future__ import annotations

import os
import random
from typing import Protocol

from dueline.domain.ids import ENTROPY_BYTES


class Chance(Protocol):
    """Where random numbers come from: the machine, or a seed."""

    def entropy(self, ids: int = 1) -> bytes:
        """Bytes for so many ids."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...


class SystemChance:
    def entropy(self, ids: int = 1) -> bytes:
        return os.urandom(ENTROPY_BYTES * ids)

    def fraction(self) -> float:
        return random.random()
