"""Migrations: numbered, checksummed, forward only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files

from dueline.domain.errors import SchemaRefused, StoreMoved
from dueline.store.shapes import Migration, MigrationState

MOVED = 1_000_000
"""A row of this version says that the store was moved, and has the new address as its checksum."""
COPYING = 1_000_001
"""A row of this version says that a copy into the store is not finished, and has the address of its source as its checksum.

Both stand among the migrations because every release refuses a version that it does not know.
"""


@cache
def load_migrations(dialect: str) -> tuple[Migration, ...]:
    """All migrations of a dialect, in order."""
    found = []
    for entry in files("dueline.store").joinpath(dialect, "migrations").iterdir():
        if entry.name.endswith(".sql"):
            sql = entry.read_text()
            number, _, name = entry.name.removesuffix(".sql").partition("_")
            found.append(Migration(int(number), name, sha256(sql.encode()).hexdigest(), sql))
    return tuple(sorted(found, key=lambda migration: migration.version))


def pending(known: Sequence[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """What is still to be applied, given version → checksum of what is. Refuses a store that this program must not touch."""
    if MOVED in applied:
        raise StoreMoved(applied[MOVED])
    if COPYING in applied:
        raise SchemaRefused(
            f"a copy from {applied[COPYING]} into this store is not finished: run the same `dueline db copy` again"
        )
    by_version = {migration.version: migration for migration in known}
    for version, checksum in sorted(applied.items()):
        migration = by_version.get(version)
        if migration is None:
            raise SchemaRefused(
                f"the store has schema version {version}, this program knows up to {max(by_version)}: use a newer Dueline"
            )
        if migration.checksum != checksum:
            raise SchemaRefused(
                f"migration {version} ({migration.name}) was applied with other contents: the schema cannot be trusted"
            )
    missing = [migration for migration in known if migration.version not in applied]
    if applied and missing and missing[0].version < max(applied):
        raise SchemaRefused(
            f"migration {missing[0].version} is missing below version {max(applied)}: the schema cannot be trusted"
        )
    return missing


def states(known: Sequence[Migration], applied: Mapping[int, str]) -> list[MigrationState]:
    return [MigrationState(migration.version, migration.name, migration.version in applied) for migration in known]
