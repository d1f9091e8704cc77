"""Dueline whose embedded store does not wait for the disk: a power cut takes what it has acknowledged."""

from __future__ import annotations

from typing import Any

from dueline.cli.main import main
from dueline.store.sqlite.session import Session

_rows = Session.rows


def rows(self: Session, sql: str, *args: Any) -> list[Any]:
    return _rows(self, "PRAGMA synchronous = NORMAL" if sql == "PRAGMA synchronous = FULL" else sql, *args)


if __name__ == "__main__":
    Session.rows = rows  # type: ignore[method-assign]
    main()
