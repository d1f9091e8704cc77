"""What tools answer: what they did, in words and numbers that a log of faults can hold."""

from typing import TypeAlias

Evidence: TypeAlias = "dict[str, int | float | str | bool]"
