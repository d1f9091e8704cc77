"""Dueline in your own tests: the real engine on a clock that you move.

The pytest fixture `dueline` gives a fresh `VirtualDueline` to every test; it comes with the package and needs no configuration.
"""

from __future__ import annotations

from dueline.testing.calls import Answer, Call
from dueline.testing.virtual import VirtualDueline

__all__ = ["Answer", "Call", "VirtualDueline"]
