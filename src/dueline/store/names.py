"""Names that are looked for by how they begin."""

from __future__ import annotations

import msgspec


class Names(msgspec.Struct, frozen=True):
    """Names that begin with a prefix, after one of them."""

    prefix: str
    after: str | None = None

    @property
    def first(self) -> str:
        """They are this one or follow it. No name has a control character in it."""
        return self.prefix if self.after is None else self.after + "\x01"

    @property
    def end(self) -> str:
        """They come before this one."""
        return self.prefix + "\U0010ffff"
