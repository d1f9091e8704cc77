"""Claims that are confirmed: where nobody touched their runs, by a look alone."""

from __future__ import annotations

import asyncpg

from dueline.store.shapes import Confirmed
from tests.support.stores import a_run, postgres_under_test, run_and_claim

_WRITERS = "SELECT xmin::text, xmax::text FROM dueline.runs ORDER BY id"


async def test_a_confirm_leaves_no_mark_on_runs_that_nobody_touched(postgres_dsn: str) -> None:
    async with postgres_under_test(postgres_dsn) as under_test:
        store = under_test.store
        claims = await run_and_claim(store, a_run(), a_run())
        held = Confirmed({claim.run_id: claim.token for claim in claims}, [])
        hand = await asyncpg.connect(postgres_dsn)
        try:
            before = await hand.fetch(_WRITERS)
            assert await store.confirm(claims) == held
            assert await hand.fetch(_WRITERS) == before
            await hand.execute("BEGIN; SELECT FROM dueline.runs FOR UPDATE; ROLLBACK")
            assert await store.confirm(claims) == held, "whoever marked them has left them alone"
        finally:
            await hand.close()
