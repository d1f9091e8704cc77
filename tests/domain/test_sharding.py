"""Which shard a job belongs to, and which scheduler a shard belongs to."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.ids import BootId, new_job_id, parse_job_id
from dueline.domain.sharding import owner_of, shard_of, shards_of

ALL = frozenset(range(limits.SHARDS))
boot_ids = st.integers(0, 10_000).map(lambda number: BootId(f"host-{number}"))
groups = st.sets(boot_ids, min_size=1, max_size=8)


def nodes(count: int) -> list[BootId]:
    return [BootId(f"node-{number}") for number in range(count)]


def test_a_shard_depends_on_the_id_alone_and_never_changes() -> None:
    # Pinned: plans are stored under it.
    assert shard_of(parse_job_id("job_01h455vb4pex5vsknk084sn02q")) == 4


def test_jobs_spread_evenly_over_the_shards() -> None:
    # Made in one millisecond, or a millisecond apart: neither may fall into few shards.
    same_ms = [new_job_id(1_767_225_600_000, number.to_bytes(10, "big")) for number in range(51_200)]
    apart = [new_job_id(1_767_225_600_000 + number, b"\x07" * 10) for number in range(51_200)]
    for jobs in (same_ms, apart):
        counts = Counter(map(shard_of, jobs))
        assert set(counts) == ALL
        assert max(counts.values()) < 2 * 51_200 / limits.SHARDS


def test_without_schedulers_a_shard_has_no_owner() -> None:
    assert owner_of(0, []) is None
    assert shards_of(BootId("a"), []) == frozenset()


@settings(max_examples=30)
@given(groups)
def test_every_shard_has_exactly_one_owner(live: set[BootId]) -> None:
    owned = [shards_of(boot_id, live) for boot_id in live]
    assert sum(map(len, owned)) == limits.SHARDS
    assert frozenset().union(*owned) == ALL


@settings(max_examples=30)
@given(groups.flatmap(lambda live: st.tuples(st.just(live), st.permutations(sorted(live)))))
def test_everyone_names_the_same_owner_in_whatever_order_they_know_each_other(
    known: tuple[set[BootId], list[BootId]],
) -> None:
    assert [owner_of(shard, known[0]) for shard in ALL] == [owner_of(shard, known[1]) for shard in ALL]


@settings(max_examples=30)
@given(groups, boot_ids)
def test_only_the_newcomer_gains_when_one_joins(live: set[BootId], newcomer: BootId) -> None:
    for shard in ALL:
        after = owner_of(shard, live | {newcomer})
        assert after in (owner_of(shard, live), newcomer)


@settings(max_examples=30)
@given(groups)
def test_only_the_shards_of_the_one_that_left_move(live: set[BootId]) -> None:
    gone = min(live)
    for shard in ALL:
        before = owner_of(shard, live)
        if before != gone:
            assert owner_of(shard, live - {gone}) == before


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16])
def test_shards_spread_evenly_over_the_schedulers(count: int) -> None:
    live = nodes(count)
    sizes = [len(shards_of(boot_id, live)) for boot_id in live]
    fair = limits.SHARDS / count
    assert max(sizes) <= fair + 3.5 * fair**0.5
    assert min(sizes) >= fair - 3.5 * fair**0.5


def test_one_that_is_not_live_owns_nothing() -> None:
    assert shards_of(BootId("stranger"), nodes(3)) == frozenset()
