"""From two addresses to the two sides of a copy."""

from __future__ import annotations

from dueline.runtime.clock import Clock
from dueline.store.copying.sides import Source, Target
from dueline.store.opening import file_of, is_embedded


def make_source(address: str, clock: Clock) -> Source:
    if not is_embedded(address):
        from dueline.store.postgres.copy_source import PostgresSource

        return PostgresSource(address)
    from dueline.store.sqlite.copy_source import SqliteSource

    return SqliteSource(str(file_of(address, field="from")), clock)


def make_target(address: str, clock: Clock) -> Target:
    if not is_embedded(address):
        from dueline.store.postgres.copy_target import PostgresTarget

        return PostgresTarget(address)
    from dueline.store.sqlite.copy_target import SqliteTarget

    return SqliteTarget(str(file_of(address, field="to")), clock)
