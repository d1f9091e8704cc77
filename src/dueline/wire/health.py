"""How a process is, as it tells itself."""

from __future__ import annotations

import msgspec


class Health(msgspec.Struct, frozen=True):
    status: str
