"""What a worker does with claims whose time has come: calls, and runs that are put off without an attempt."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, cast

import msgspec
import pytest

from dueline.domain import limits
from dueline.domain.circuits import CircuitPolicy
from dueline.domain.gates import Limit
from dueline.domain.ids import BootId, RunId, run_text
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.lanes import PLAIN
from dueline.domain.run import OutcomeKind
from dueline.domain.states import HeldReason, RunKind, RunState
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.runtime.clock import ManualClock, StoreTime
from dueline.store.fleet import Node
from dueline.store.shapes import Claim, Claimed, Confirmed, Finish, Postponed, Retry, Saved
from dueline.testing.calls import Answer, Call, RecordingExecutor
from dueline.testing.world import VirtualChance
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker, WorkerStore

POLICY = CircuitPolicy(calls_min=10, wait_s=10)


class FakeStore:
    def __init__(self) -> None:
        self.finished: list[Finish] = []
        self.retried: list[Retry] = []
        self.postponed: list[Postponed] = []
        self.ready: list[Claim] = []
        self.asked: list[int] = []
        self.released: list[Claim] = []
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        """What is done while the next claim is on its way."""
        self.confirmed: list[RunId] = []
        self.refused: set[RunId] = set()

    async def queues(self) -> list[tuple[str, str]]:
        return [("default", PLAIN)] if self.ready else []

    async def claim(self, _worker: BootId, _queue: str, _lane: str, *, ahead_ms: int, limit: int) -> Claimed:
        del ahead_ms
        self.asked.append(limit)
        if self.meanwhile is not None:
            await self.meanwhile()
        given, self.ready = self.ready[:limit], self.ready[limit:]
        return Claimed(given, [])

    async def finish(self, finishes: Sequence[Finish]) -> set[RunId]:
        self.finished += finishes
        return {end.run_id for end in finishes}

    async def retry(self, retries: Sequence[Retry]) -> set[RunId]:
        self.retried += retries
        return {end.run_id for end in retries}

    async def save(self, saved: Sequence[Saved]) -> set[RunId]:
        raise AssertionError(f"HTTP calls tell nothing while they are under way: {saved}")

    async def nodes(self) -> list[Node]:
        raise AssertionError("who makes HTTP calls has no need to know who else is there")

    async def limits(self) -> list[Limit]:
        return []

    async def confirm(self, claims: Sequence[Claim]) -> Confirmed:
        self.confirmed += [claim.run_id for claim in claims]
        return Confirmed({claim.run_id: claim.token for claim in claims if claim.run_id not in self.refused}, [])

    async def release(self, claims: Sequence[Claim]) -> set[RunId]:
        self.released += claims
        return {claim.run_id for claim in claims}

    async def postpone(self, postponed: Sequence[Postponed]) -> set[RunId]:
        self.postponed += postponed
        return {one.run_id for one in postponed}


class FakeMembership:
    def __init__(self, clock: ManualClock) -> None:
        self.boot_id = "w1"
        self.trusted = True
        self.time = StoreTime(clock)
        self.time.measured(clock.wall_ms(), sent_s=clock.monotonic_s())


async def keys_of(tenants: Collection[str], /, *, now_ms: int, spare_s: float = 0.0) -> Mapping[str, tuple[bytes, ...]]:
    del now_ms, spare_s
    return {tenant: (b"k" * 32,) for tenant in tenants if tenant == "signs"}


class Desk:
    """A worker on a virtual clock, whose targets answer as `answers` says by their host."""

    def __init__(self, slots: int = 100) -> None:
        self.clock = ManualClock()
        self.store = FakeStore()
        self.calls: list[Call] = []
        self.answers: dict[str, Answer] = {}
        self._number = 0
        self.worker = Worker(
            cast(WorkerStore, self.store),
            cast(Membership, FakeMembership(self.clock)),
            cast(Definitions, None),
            self.clock,
            VirtualChance(),
            WorkerOptions(slots=slots, circuit=POLICY),
            make_executor=self._make_executor,
            keys_of=keys_of,
        )

    def _make_executor(self, **seams: Any) -> RecordingExecutor:
        self.executor = RecordingExecutor(**seams, calls=self.calls, respond=lambda: self._respond)
        return self.executor

    def _respond(self, call: Call) -> Answer:
        return self.answers.get(call.url.split("/")[2], Answer())

    def claims(self, url: str, count: int, *, tenant: str = "acme", due_in_ms: int = 0, **target: Any) -> list[Claim]:
        spec = msgspec.json.encode(Execution(target=HttpTarget(url=url, **target))).decode()
        now_ms = self.clock.wall_ms() + due_in_ms
        made = []
        for _ in range(count):
            self._number += 1
            run_id = RunId(self._number.to_bytes(16, "big"))
            made.append(Claim(run_id, 1, None, None, tenant, RunKind.ADHOC, now_ms, now_ms, now_ms, 1, 0, False, spec))
        return made

    async def start(self, claims: list[Claim]) -> None:
        await self.worker._starter.start(claims)

    async def settle(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)
        self.executor.deliver_ended()
        await self.worker._reports.step()


@pytest.fixture
async def desk() -> Desk:
    return Desk()


async def test_runs_of_a_target_that_is_down_are_put_off_without_an_attempt(desk: Desk) -> None:
    desk.answers["down"] = Answer(503)
    await desk.start(desk.claims("http://down/", 10))
    await desk.settle()
    assert len(desk.store.retried) == 10
    await desk.start(desk.claims("http://down/", 40) + desk.claims("http://up/", 40))
    await desk.settle()
    assert {(one.token, one.reason) for one in desk.store.postponed} == {(1, HeldReason.CIRCUIT)}
    assert len(desk.store.postponed) == len(desk.store.finished) == 40
    assert len(desk.calls) == 50
    now_ms = desk.clock.wall_ms()
    due = [one.due_ms - now_ms for one in desk.store.postponed]
    assert 10_000 <= min(due) < max(due) <= 20_000
    assert len(set(due)) > 20
    assert desk.worker.under_way == 0


async def test_when_the_target_is_back_one_probe_opens_the_door(desk: Desk) -> None:
    desk.answers["down"] = Answer(503)
    await desk.start(desk.claims("http://down/", 10))
    await desk.settle()
    desk.answers["down"] = Answer(200)
    desk.clock.advance(POLICY.wait_s)
    await desk.start(desk.claims("http://down/", 5))
    assert (len(desk.calls), len(desk.store.postponed)) == (11, 4)
    await desk.settle()
    await desk.start(desk.claims("http://down/", 5))
    assert (len(desk.calls), len(desk.store.postponed)) == (16, 4)


async def test_a_hanging_target_cannot_take_all_slots(desk: Desk) -> None:
    desk.answers["hangs"] = Answer(takes="1h")
    await desk.start(desk.claims("http://hangs/", 100))
    # For a moment nobody knows that it hangs.
    assert (desk.worker.under_way, desk.store.postponed) == (50, [])
    desk.clock.advance(0.25)
    await desk.worker.hold_step()
    # Those who would have their turn within half a second wait for it.
    assert (desk.worker.under_way, len(desk.store.postponed)) == (50, 46)
    assert {one.reason for one in desk.store.postponed} == {HeldReason.HOST_BUSY}
    assert min(one.due_ms for one in desk.store.postponed) > desk.clock.wall_ms() + limits.AHEAD_MS
    await desk.start(desk.claims("http://other/", 50))
    await desk.settle()
    assert len(desk.store.finished) == 50


async def test_a_run_whose_url_is_none_ends_as_impossible(desk: Desk) -> None:
    await desk.start(desk.claims("http://{{job.name}}.example/", 1))
    await desk.settle()
    (end,) = desk.store.finished
    assert (end.state, end.attempt.outcome.kind) == (RunState.FAILED, OutcomeKind.IMPOSSIBLE)
    assert "host" in (end.attempt.outcome.error or "")
    assert (desk.calls, desk.worker.under_way) == ([], 0)


async def test_calls_are_signed_for_those_who_have_a_secret(desk: Desk) -> None:
    await desk.start(desk.claims("http://t/", 1, tenant="signs") + desk.claims("http://t/", 1))
    signed, plain = desk.calls
    assert signed.headers["webhook-id"] == signed.run_id
    assert signed.headers["webhook-timestamp"] == str(desk.clock.wall_ms() // 1000)
    assert signed.headers["webhook-signature"].startswith("v1,")
    assert "webhook-signature" not in plain.headers


async def test_the_targets_own_idea_of_success_counts(desk: Desk) -> None:
    desk.answers["t"] = Answer(404)
    await desk.start(desk.claims("http://t/", 1, expected_status=((404, 404),)) + desk.claims("http://t/", 1))
    await desk.settle()
    assert [end.state for end in desk.store.finished] == [RunState.SUCCEEDED, RunState.FAILED]


async def test_without_a_trusted_lease_nothing_is_started_or_put_off(desk: Desk) -> None:
    cast(FakeMembership, desk.worker._membership).trusted = False
    await desk.start(desk.claims("http://t/", 3))
    assert (desk.calls, desk.store.postponed, desk.worker.under_way) == ([], [], 0)


async def test_a_worker_that_is_full_asks_for_few_only_after_a_moment(desk: Desk) -> None:
    desk.answers |= {host: Answer(takes="1h") for host in ("a", "b", "c")} | {"quick": Answer(takes="10ms")}
    for host, count in {"a": 45, "quick": 10, "b": 45, "c": 10}.items():
        desk.store.ready += desk.claims(f"http://{host}/", count)
    assert await desk.worker.claim_step() == 0.05
    assert desk.store.asked == [100]
    await desk.settle(0.01)
    # Ten are free, of a hundred.
    assert await desk.worker.claim_step() == 0.05
    assert desk.store.asked == [100]
    desk.clock.advance(0.05)
    await desk.worker.claim_step()
    assert desk.store.asked == [100, 10]
    assert (desk.worker.under_way, desk.store.ready) == (100, [])


async def test_a_worker_that_is_full_asks_at_once_when_many_have_ended(desk: Desk) -> None:
    desk.answers |= {"slow": Answer(takes="1h"), "quick": Answer(takes="10ms")}
    desk.store.ready = [
        *desk.claims("http://slow/", 50),
        *desk.claims("http://quick/", 50),
        *desk.claims("http://quick/", 5),
    ]
    await desk.worker.claim_step()
    await desk.settle(0.01)
    await desk.worker.claim_step()
    assert desk.store.asked == [100, 50]


async def claim_ahead(desk: Desk, hosts: list[str]) -> None:
    """Let it take what it can of a burst, a run for each host, that is due 0.3 s later."""
    desk.store.ready = [claim for host in hosts for claim in desk.claims(f"http://{host}/", 1, due_in_ms=800)]
    for _ in range(10):
        await desk.worker.claim_step()
        desk.clock.advance(0.05)


async def test_a_worker_holds_more_runs_for_their_time_than_it_has_slots(desk: Desk) -> None:
    """They start as slots become free."""
    hosts = [f"h{number}" for number in range(10)]
    desk.answers |= {host: Answer(takes="400ms") for host in hosts}
    await claim_ahead(desk, hosts * 60)
    assert len(desk.store.ready) == 600 - 100 * limits.HELD_PER_SLOT
    assert await desk.worker.hold_step() == pytest.approx(0.3)
    assert desk.calls == []
    desk.clock.advance(0.3)
    await desk.worker.hold_step()
    assert (desk.worker.under_way, len(desk.calls)) == (100, 100)
    assert await desk.worker.hold_step() == 0.05
    await desk.settle(0.4)
    await desk.worker.hold_step()
    assert (desk.worker.under_way, len(desk.calls)) == (100, 200)
    assert desk.store.released == []


async def test_held_runs_that_are_not_confirmed_go_back_and_do_not_start(desk: Desk) -> None:
    early, due = desk.claims("http://up/", 2, due_in_ms=300)
    desk.store.ready = [early, due]
    await desk.worker.claim_step()
    desk.store.refused = {early.run_id}
    desk.clock.advance(0.3)
    await desk.worker.hold_step()
    assert [call.run_id for call in desk.calls] == [run_text(due.run_id)]
    assert desk.store.released == [early]
    assert desk.worker.next_held_ms is None


async def test_held_runs_that_find_no_slot_go_back_after_a_while(desk: Desk) -> None:
    hosts = [f"h{number}" for number in range(10)]
    desk.answers |= {host: Answer(takes="1h") for host in hosts}
    desk.store.ready = [claim for host in hosts * 15 for claim in desk.claims(f"http://{host}/", 1, due_in_ms=100)]
    for _ in range(2):
        await desk.worker.claim_step()
        desk.clock.advance(0.05)
    await desk.worker.hold_step()
    desk.clock.advance((limits.HELD_LATE_MS - 1) / 1000)
    await desk.worker.hold_step()
    assert desk.store.released == []
    desk.clock.advance(0.001)
    await desk.worker.hold_step()
    assert (desk.worker.under_way, len(desk.store.released)) == (100, 50)
    assert desk.worker.next_held_ms is None


async def test_held_runs_stay_where_slots_become_free_soon_enough(desk: Desk) -> None:
    """A burst is more than a worker can start at once, not more than it can work off: what it gave back it would only claim again."""
    hosts = [f"h{number}" for number in range(10)]
    desk.answers |= {host: Answer(takes="300ms") for host in hosts}
    await claim_ahead(desk, hosts * 50)
    desk.clock.advance(0.3)
    await desk.worker.hold_step()
    for number in range(4):
        await desk.settle(0.4)
        assert desk.worker.under_way == 0
        await desk.worker.hold_step()
        assert len(desk.calls) == 200 + number * 100
        await desk.worker.hold_step()
    assert desk.store.released == []


async def test_of_held_runs_that_are_too_many_for_the_pace_the_rest_goes_back(desk: Desk) -> None:
    hosts = [f"h{number}" for number in range(10)]
    desk.answers |= {host: Answer(takes="1h") for host in hosts} | {"h0": Answer(takes="400ms")}
    await claim_ahead(desk, hosts * 50)
    desk.clock.advance(0.3)
    await desk.worker.hold_step()
    await desk.settle(0.4)
    await desk.worker.hold_step()
    assert (desk.worker.under_way, len(desk.calls), desk.store.released) == (100, 110, [])
    desk.clock.advance(0.1)
    await desk.worker.hold_step()
    # Ten slots became free in the last half second, so sixty may be hoped for; the tenth of a second since then counts against it.
    assert len(desk.store.released) == 390 - 49


async def test_what_came_due_while_the_answer_travelled_is_confirmed_before_it_starts(desk: Desk) -> None:
    (claim,) = desk.claims("http://up/", 1)
    desk.store.ready = [msgspec.structs.replace(claim, claimed_ms=claim.due_ms - 1)]

    await desk.worker.claim_step()
    assert desk.calls == []

    await desk.worker.hold_step()
    assert desk.store.confirmed == [claim.run_id]
    assert len(desk.calls) == 1


async def test_held_runs_and_claimed_ones_share_the_slots(desk: Desk) -> None:
    """Those that are held start while a claim is on its way, and what it brings finds fewer slots than it asked for."""
    hosts = [f"h{number}" for number in range(10)]
    desk.answers |= {host: Answer(takes="1h") for host in hosts}
    desk.store.ready = [claim for host in hosts * 6 for claim in desk.claims(f"http://{host}/", 1, due_in_ms=50)]
    await desk.worker.claim_step()
    desk.clock.advance(0.05)
    desk.store.ready = [claim for host in hosts * 10 for claim in desk.claims(f"http://{host}/", 1)]
    desk.worker.wake("ready/default")
    desk.store.meanwhile = desk.worker.hold_step
    await desk.worker.claim_step()
    assert desk.store.asked[-1] == 100
    assert (desk.worker.under_way, len(desk.calls)) == (100, 100)
    assert desk.worker.next_held_ms == desk.clock.wall_ms()
