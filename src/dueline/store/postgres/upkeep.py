"""What rows leave behind on PostgreSQL where they change all the time.

A row that is changed or deleted leaves its old version, and an entry in each index, until a vacuum. Whoever reads a line from its front
passes over what went before, and each process does so for every claim. The server's own vacuum comes once a minute, when that is most of
what a claim does, and has the tables grow to what a minute leaves behind.
"""

from __future__ import annotations

from dueline.store.postgres.part import Part

_CLEAR = {
    "runs": "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF, SKIP_LOCKED, PARALLEL 0) dueline.runs",
    "plans": "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF, SKIP_LOCKED, PARALLEL 0) dueline.plans",
    "places": "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF, SKIP_LOCKED, PARALLEL 0) dueline.places",
    "gate_places": "VACUUM (INDEX_CLEANUP ON, TRUNCATE OFF, SKIP_LOCKED, PARALLEL 0) dueline.gate_places",
}
"""To cut the end of a file off would lock everybody out; the server does so when it is quiet. Where it is at work, it has the table."""
_LITTERED = """
SELECT name FROM unnest($1::text[]) AS name WHERE pg_stat_get_dead_tuples(to_regclass('dueline.' || name)) >= $2
"""


class UpkeepPart(Part):
    async def littered(self, *, least: int) -> list[str]:
        return [row[0] for row in await self._database.fetch(_LITTERED, list(_CLEAR), least)]

    async def clear(self, table: str) -> None:
        await self._database.execute(_CLEAR[table])
