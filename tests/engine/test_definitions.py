"""Job versions in memory: read once, kept while they are used."""

from collections.abc import Collection
from typing import cast

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.job import Definition, Execution, HttpTarget, JobVersion
from dueline.engine.definitions import Definitions, Key
from dueline.store.protocol import JobStore

A, B, C, D = (JobId(letter.encode() * 16) for letter in "abcd")


class FakeStore:
    """Knows every version up to the third of any job, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[set[Key]] = []
        self.body = "short"

    async def job_versions(self, keys: Collection[Key]) -> list[JobVersion]:
        self.asked.append(set(keys))
        return [
            JobVersion(job_id, version, "default", a_definition(version, self.body))
            for job_id, version in keys
            if version <= 3
        ]


def a_definition(version: int, body: str) -> Definition:
    return Definition(name=f"version {version}", execution=Execution(target=HttpTarget(url="http://t/", body=body)))


def definitions(*, kept: int = 100) -> tuple[FakeStore, Definitions]:
    store = FakeStore()
    return store, Definitions(cast(JobStore, store), kept=kept)


async def test_what_is_missing_is_read_at_once_and_only_once() -> None:
    store, memory = definitions()
    found = await memory.load([(A, 1), (B, 1)])
    assert found.keys() == {(A, 1), (B, 1)}
    assert found[A, 1].definition.name == "version 1"
    again = await memory.load([(A, 1), (B, 1), (C, 1)])
    assert again.keys() == {(A, 1), (B, 1), (C, 1)}
    assert store.asked == [{(A, 1), (B, 1)}, {(C, 1)}]


async def test_versions_of_one_job_are_different_things() -> None:
    store, memory = definitions()
    await memory.load([(A, 1)])
    assert (await memory.load([(A, 2)]))[A, 2].definition.name == "version 2"
    assert store.asked == [{(A, 1)}, {(A, 2)}]


async def test_nothing_asked_for_is_nothing_read() -> None:
    store, memory = definitions()
    assert await memory.load([]) == {}
    assert store.asked == []


async def test_a_version_that_does_not_exist_is_left_out_and_asked_for_again() -> None:
    store, memory = definitions()
    assert await memory.load([(A, 9)]) == {}
    assert await memory.load([(A, 9), (A, 1)]) == await memory.load([(A, 1)])
    assert store.asked == [{(A, 9)}, {(A, 9), (A, 1)}]


async def test_as_many_are_kept_as_there_is_room_for() -> None:
    store, memory = definitions(kept=2)
    for _ in range(3):
        await memory.load([(A, 1), (B, 1)])
    assert store.asked == [{(A, 1), (B, 1)}]
    await memory.load([(C, 1)])
    await memory.load([(C, 1)])
    store.asked.clear()
    await memory.load([(A, 1), (B, 1), (C, 1)])
    assert len(store.asked[0]) == 1, "one made room"


async def test_what_comes_round_in_turn_is_mostly_there_though_not_all_of_it_fits() -> None:
    store, memory = definitions(kept=80)
    keys = [(JobId(bytes([number] * 16)), 1) for number in range(100)]
    for _ in range(10):
        for key in keys:
            await memory.load([key])
    assert len(store.asked) < 500, "of a thousand loads"


async def test_large_ones_count_for_many() -> None:
    store, memory = definitions(kept=10)
    store.body = "x" * 4 * limits.DEFINITION_BYTES
    await memory.load([(A, 1)])
    await memory.load([(B, 1)])
    await memory.load([(A, 1), (B, 1)])
    assert store.asked == [{(A, 1)}, {(B, 1)}]
    await memory.load([(C, 1)])
    store.asked.clear()
    await memory.load([(A, 1), (B, 1), (C, 1)])
    assert store.asked != []


async def test_who_keeps_what_it_makes_of_them_need_not_have_them_kept() -> None:
    store, memory = definitions()
    await memory.load([(A, 1)], keep=False)
    await memory.load([(A, 1)])
    await memory.load([(A, 1)], keep=False)
    assert store.asked == [{(A, 1)}, {(A, 1)}]


async def test_a_load_larger_than_the_memory_is_answered_in_full() -> None:
    _, memory = definitions(kept=2)
    keys = {(A, 1), (B, 1), (C, 1), (D, 1)}
    assert (await memory.load(keys)).keys() == keys
    assert (await memory.load(keys)).keys() == keys
