"""Jobs that are looked for by words."""

from __future__ import annotations

import msgspec

from dueline.domain.ids import JobId

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


class Words(msgspec.Struct, frozen=True):
    """Letters that a job must have in its name, in a tag, or in what it calls: all of them, each anywhere. The case of A to Z does not
    matter. They are looked for down to an id, with it; None: to the end."""

    words: tuple[str, ...]
    down_to: JobId | None = None

    @property
    def folded(self) -> tuple[str, ...]:
        """As they are compared: databases agree on the case of A to Z, and on that of no other letter."""
        return tuple(word.translate(_LOWER) for word in self.words)
