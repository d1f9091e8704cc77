"""What a worker does, for tests of what people see of it: the servers of these tests have none."""

from typing import Any

import msgspec

from dueline.domain.ids import BootId
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.protocol import Store
from dueline.store.shapes import Claim
from tests.api.serving import TARGET, ServedApi
from tests.support.stores import a_finish, claim_one, register

WORKER = BootId("w1")


def claim(api: ServedApi, *, queue: str = "default", lane: str = PLAIN) -> Claim:
    """Take the one run that is ready in a queue."""

    async def ask(store: Store) -> Claim:
        return await claim_one(store, await register(store, WORKER), queue=queue, lane=lane)

    return api.on_store(ask)


def end(api: ServedApi, claimed: Claim, state: RunState, *, reason: str | None = None) -> None:
    async def ask(store: Store) -> None:
        finish = msgspec.structs.replace(a_finish(claimed, state, reason=reason), finished_ms=claimed.claimed_ms)
        assert await store.finish([finish])

    api.on_store(ask)


def a_dead_letter(api: ServedApi, *, reason: str | None = None, lane: str = PLAIN, **fields: Any) -> str:
    """The id of a run without a job that failed; fields are those of the run."""
    asked = {"target": TARGET, "queue": "failing", **fields}
    run_id: str = api.call("POST", "/v1/runs", asked).json["id"]
    end(api, claim(api, queue=asked["queue"], lane=lane), RunState.FAILED, reason=reason)
    return run_id
