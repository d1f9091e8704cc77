"""Tables in which little happened are not worth clearing, and to clear one all the same does no harm."""

from dueline.domain import limits
from dueline.store.protocol import Store
from tests.support.stores import a_finish, a_run, run_and_claim


async def test_few_rows_leave_too_little_behind(store: Store) -> None:
    claims = await run_and_claim(store, a_run(), a_run())
    await store.clear("runs")
    assert await store.finish([a_finish(claimed) for claimed in claims]) == {claimed.run_id for claimed in claims}
    assert await store.littered(least=limits.LITTER_MIN) == []
