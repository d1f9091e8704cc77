"""The checks of the simulation can fail, each by what it is there for."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from dueline.domain.gates import Gate, Rate, Scope, Wish
from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Definition, Execution, HttpTarget, Job
from dueline.domain.planning import Position
from dueline.domain.schedule import After
from dueline.domain.sharding import shard_of
from dueline.domain.states import JobState
from tests.simulation.clocks import START_MS, Belief, StoreClock
from tests.simulation.journal import Deed, JobEvent
from tests.simulation.limits import most_at_once
from tests.simulation.link import Trouble
from tests.simulation.loop import VirtualLoop
from tests.simulation.missing import Watch, following_kept
from tests.simulation.owners import Owners
from tests.simulation.target import Hit
from tests.simulation.trace import Trace

JOB = JobId(bytes(16))
SHARD = shard_of(JOB)


class Moment(VirtualLoop):
    """A loop that is where it is told to be."""

    def go(self, at_s: float) -> None:
        self.now_s = at_s


@pytest.fixture
def loop() -> Iterator[Moment]:
    loop = Moment()
    yield loop
    loop.close()


@pytest.fixture
def clock(loop: Moment) -> StoreClock:
    return StoreClock(loop)


@pytest.fixture
def owners(clock: StoreClock) -> Owners:
    return Owners(Trace(keep=False), clock)


def run_id(number: int) -> RunId:
    return RunId(number.to_bytes(16, "big"))


def hit(at_s: float, until_s: float) -> Hit:
    return Hit(run_id(1), 1, 1, "w1", "steady", at_s, START_MS, True, until_s)


def let_in(owners: Owners, gate: Gate, *starts_ms: int) -> None:
    for number, start_ms in enumerate(starts_ms):
        owners.saw("enter", ([Wish(run_id(number), 1, (gate,))],), {}, {run_id(number): START_MS + start_ms})


def test_calls_that_touch_are_not_under_way_at_once() -> None:
    assert most_at_once([hit(1, 2), hit(2, 3), hit(3, inf)]) == 1
    assert most_at_once([hit(1, 2.5), hit(2, 3), hit(2.2, inf)]) == 3


def test_a_run_that_is_let_in_before_the_rate_allows_it_is_told(owners: Owners) -> None:
    gate = Gate(Scope.HOST, "slow", rate=Rate(2, 1_000, burst=2), as_of=7)
    let_in(owners, gate, 0, 0, 500, 1_000)
    assert owners.wrong == []

    let_in(owners, gate, 1_498)
    assert [finding.split(" at ")[0] for finding in owners.wrong] == ["I9: host slow lets a run start"]


def test_a_new_rate_is_kept_from_its_first_run_on(owners: Owners) -> None:
    let_in(owners, Gate(Scope.HOST, "slow", rate=Rate(1, 10_000), as_of=7), 0)
    let_in(owners, Gate(Scope.HOST, "slow", rate=Rate(1, 1_000), as_of=8), 1, 1_001)
    assert owners.wrong == []


def test_the_clock_of_the_store_reached_a_time_when_it_first_showed_it(loop: Moment, clock: StoreClock) -> None:
    loop.go(10)
    clock.step(60_000)
    loop.go(20)
    clock.step(-250)

    moments = [clock.reached_s(START_MS + at_ms) for at_ms in (5_000, 10_000, 40_000, 79_900, 80_100)]
    assert moments == [5, 10, 10, 19.9, 20.35]


def test_a_process_learns_by_the_answer_to_a_beat_that_the_clock_was_set_back(loop: Moment, clock: StoreClock) -> None:
    belief = Belief(clock)
    loop.go(10)
    clock.step(-250)
    loop.go(11)
    assert belief.latest_ms() - clock.wall_ms() == 250
    belief.beat_answered(there_s=0.001, steps=0)
    assert belief.latest_ms() - clock.wall_ms() == 250, "the store had read its clock before"

    belief.beat_answered(there_s=0.001, steps=1)
    assert belief.latest_ms() - clock.wall_ms() == 250, "what was decided until now may happen now"
    loop.go(11.1)
    assert belief.latest_ms() - clock.wall_ms() == 150
    loop.go(12)
    assert belief.latest_ms() - clock.wall_ms() == 2, "a beat tells to within its own way"


@pytest.mark.parametrize(
    ("troubles", "buried", "quiet_s"),
    [
        ([], {}, 10.0),
        ([Trouble("", 4.0, 5.0)], {}, 5.0),
        ([Trouble("s1", 2.0, 6.0), Trouble("s1", 3.0, 4.0)], {}, 4.0),
        ([Trouble("s1", 1.0, inf)], {}, 1.0),
        ([Trouble("s2", 0.0, inf)], {}, 10.0),
        ([], {"s1-1": 3.0}, 3.0),
    ],
)
def test_a_shard_is_watched_while_nothing_is_wrong_with_its_owner(
    owners: Owners, clock: StoreClock, troubles: list[Trouble], buried: dict[str, float], quiet_s: float
) -> None:
    owners.saw("take_shards", ("s1-1", {}), {}, {SHARD: 1})
    owners.buried |= buried
    watch = Watch(owners, clock, troubles)
    assert max(watch.quiet(SHARD, 0.0, 10.0)) == quiet_s


def test_a_shard_that_was_handed_over_is_the_next_ones(loop: Moment, clock: StoreClock, owners: Owners) -> None:
    owners.saw("take_shards", ("s1-1", {}), {}, {SHARD: 1})
    loop.go(4)
    owners.saw("drop_shards", ("s1-1", {SHARD: 1}), {}, None)
    loop.go(7)
    owners.saw("take_shards", ("s2-1", {}), {}, {SHARD: 2})

    assert list(Watch(owners, clock, []).quiet(SHARD, 0.0, 10.0)) == [4.0, 3.0]


def test_a_schedule_is_stuck_by_the_time_that_passed_not_by_a_clock_that_was_set(
    loop: Moment, clock: StoreClock, owners: Owners
) -> None:
    schedule = After(delay_ms=1_000, first_ms=START_MS + 1_000)
    owners.saw("take_shards", ("s1-1", {}), {}, {SHARD: 1})
    loop.go(10)
    clock.step(60_000)

    def ended(at_s: float) -> list[str]:
        loop.go(at_s)
        events = [event(Deed.CREATE, schedule, START_MS, 0.0), event(Deed.DELETE, schedule, clock.wall_ms(), at_s)]
        return list(following_kept(schedule, events, [], clock, Watch(owners, clock, [])))

    assert ended(76) == []
    assert [finding.split(": ")[0] for finding in ended(76.5)] == ["I15"]


@pytest.mark.parametrize(("back_s", "found"), [(65.1, []), (64.9, ["I15"])])
def test_a_schedule_is_not_stuck_while_nobody_lives_who_could_fire_it(
    loop: Moment, clock: StoreClock, owners: Owners, back_s: float, found: list[str]
) -> None:
    schedule = After(delay_ms=1_000, first_ms=START_MS + 1_000)
    owners.saw("take_shards", ("s1-1", {}), {}, {SHARD: 1})
    loop.go(back_s)
    owners.saw("take_shards", ("s2-1", {}), {}, {SHARD: 2})
    loop.go(80)
    events = [event(Deed.CREATE, schedule, START_MS, 0.0), event(Deed.DELETE, schedule, START_MS + 80_000, 80.0)]
    watch = Watch(owners, clock, [Trouble("s1", 0.0, inf)])
    told = list(following_kept(schedule, events, [], clock, watch))
    assert [finding.split(": ")[0] for finding in told] == found


def event(deed: Deed, schedule: After, at_ms: int, at_s: float) -> JobEvent:
    definition = Definition(name="a", execution=Execution(target=HttpTarget(url="http://steady/")), schedule=schedule)
    job = Job(
        id=JOB,
        tenant="t",
        state=JobState.ACTIVE,
        version=1,
        definition=definition,
        position=Position(),
        pause_note=None,
        created_ms=START_MS,
        updated_ms=START_MS,
        since_ms=START_MS,
    )
    return JobEvent(deed, job, at_ms, at_s)
