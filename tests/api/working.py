"""What a worker does, for tests of what people see of it: the servers of these tests have none."""

from dueline.domain.ids import BootId
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim
from tests.api.serving import ServedApi
from tests.support.stores import a_finish, claim_one, register

WORKER = BootId("w1")


def claim(api: ServedApi, *, queue: str = "default") -> Claim:
    """Take the one run that is ready in a queue."""

    async def ask(store: Store) -> Claim:
        return await claim_one(store, await register(store, WORKER), queue=queue)

    return api.on_store(ask)


def end(api: ServedApi, claimed: Claim, state: RunState, *, reason: str | None = None) -> None:
    async def ask(store: Store) -> None:
        assert await store.finish([a_finish(claimed, state, reason=reason)])

    api.on_store(ask)
