"""Writes that many want at once: each gets its own answer, and one that cannot be written harms no other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from dueline.domain.errors import StoreUnavailable
from dueline.engine.gathering import Gathering


class Writer:
    """Writes numbers when it is let; a negative one breaks whatever write it is in."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.under_way = 0
        self.let = asyncio.Event()
        self.away = False

    async def write(self, numbers: Sequence[int]) -> list[int]:
        self.batches.append(list(numbers))
        self.under_way += 1
        await self.let.wait()
        self.under_way -= 1
        if self.away:
            raise StoreUnavailable("away")
        if any(number < 0 for number in numbers):
            raise ValueError("negative")
        return [number * 10 for number in numbers]


@pytest.fixture
def writer() -> Writer:
    return Writer()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_alone_is_written_at_once(writer: Writer) -> None:
    writer.let.set()
    gathering = Gathering(writer.write)
    assert [await gathering.write(number) for number in (1, 2)] == [10, 20]
    assert writer.batches == [[1], [2]]


async def test_what_comes_while_others_are_written_is_written_together(writer: Writer) -> None:
    gathering = Gathering(writer.write, most=3, at_once=2)
    writing = []
    for number in range(9):
        writing.append(asyncio.create_task(gathering.write(number)))
        await settle()
    assert (writer.batches, writer.under_way) == ([[0], [1]], 2)
    writer.let.set()
    assert await asyncio.gather(*writing) == [number * 10 for number in range(9)]
    assert sorted(writer.batches[2:]) == [[2, 3, 4], [5, 6, 7], [8]]


async def test_one_that_breaks_the_write_is_told_alone(writer: Writer) -> None:
    writer.let.set()
    gathering = Gathering(writer.write, at_once=1)
    answers = await asyncio.gather(*(gathering.write(number) for number in (1, -1, 2)), return_exceptions=True)
    assert (answers[0], type(answers[1]), answers[2]) == (10, ValueError, 20)
    assert writer.batches == [[1, -1, 2], [1], [-1], [2]]


async def test_a_store_that_is_away_is_asked_once_for_all(writer: Writer) -> None:
    writer.let.set()
    writer.away = True
    gathering = Gathering(writer.write, at_once=1)
    answers = await asyncio.gather(*(gathering.write(number) for number in (1, 2)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
    assert writer.batches == [[1, 2]]


async def test_who_leaves_takes_nothing_from_the_others(writer: Writer) -> None:
    gathering = Gathering(writer.write, at_once=1)
    first = asyncio.create_task(gathering.write(1))
    await settle()
    second, third = (asyncio.create_task(gathering.write(number)) for number in (2, 3))
    await settle()
    first.cancel()
    second.cancel()
    await settle()
    writer.let.set()
    assert await third == 30
    assert writer.batches == [[1], [2, 3]]
