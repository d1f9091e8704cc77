"""Randomness. Nothing else in Dueline draws it."""

from __future__ import annotations

import os
import random
from typing import Protocol

from dueline.domain.ids import ENTROPY_BYTES


class Chance(Protocol):
    """Where random numbers come from: the machine, or a seed."""

    def entropy(self) -> bytes:
        """Bytes for one id."""
        ...

    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...


class SystemChance:
    def entropy(self) -> bytes:
        return os.urandom(ENTROPY_BYTES)

    def fraction(self) -> float:
        return random.random()
