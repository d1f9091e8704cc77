"""Calls that wait for a place at their host."""

import asyncio
import math

from dueline.worker.executors.hosts import Errand, Hosts
from dueline.worker.executors.http import HttpCall, HttpFailure
from tests.support.calling import OpenCaller
from tests.support.target import Answer, Target


def a_call(key: int, host: str = "a", timeout_ms: int = 1_000) -> HttpCall:
    return HttpCall(key, "GET", f"http://{host}/{key}", (), None, timeout_ms)


def take_all(hosts: Hosts) -> list[Errand]:
    return list(hosts.take(1.0, 100))


def keys_of(taken: list[Errand]) -> list[int]:
    return [errand.call.key for errand in taken]


def test_a_host_has_its_places_and_who_came_first_is_first() -> None:
    hosts = Hosts(2)
    for key in range(5):
        hosts.add(a_call(key), 1.0)
    first = take_all(hosts)
    assert (keys_of(first), hosts.ready) == ([0, 1], False)
    hosts.leave(first[0].host)
    hosts.add(a_call(5), 2.0)
    second = take_all(hosts)
    assert (keys_of(second), second[0].since_s) == ([2], 1.0)
    for errand in (first[1], second[0]):
        hosts.leave(errand.host)
    assert keys_of(take_all(hosts)) == [3, 4]


def test_no_more_are_taken_than_are_asked_for() -> None:
    hosts = Hosts(3)
    for key in range(5):
        hosts.add(a_call(key), 1.0)
    assert (keys_of(list(hosts.take(1.0, 2))), hosts.ready) == ([0, 1], True)
    assert next(iter(hosts.take(1.0, 2))).call.key == 2
    assert [call.key for call, _ in hosts.waiting()] == [3, 4]


def test_a_host_without_places_does_not_hold_up_others() -> None:
    hosts = Hosts(1)
    for key, name in enumerate("aaabbc"):
        hosts.add(a_call(key, name), 1.0)
    assert keys_of(take_all(hosts)) == [0, 3, 5]


def test_nothing_is_kept_of_a_host_that_nobody_calls() -> None:
    hosts = Hosts(1)
    hosts.add(a_call(0), 1.0)
    hosts.add(a_call(1), 1.0)
    (taken,) = take_all(hosts)
    assert [call.key for call, _ in hosts.cancel({1})] == [1]
    hosts.leave(taken.host)
    hosts.add(a_call(2, "b"), 1.0)
    assert [call.key for call, _ in hosts.cancel({2})] == [2]
    assert (hosts._hosts, take_all(hosts)) == ({}, [])


def test_who_waits_longer_than_it_has_time_is_taken_out() -> None:
    hosts = Hosts(1)
    for key, timeout_ms in enumerate((500, 3_000, 1_000, 2_000)):
        hosts.add(a_call(key, timeout_ms=timeout_ms), 10.0)
    assert keys_of(take_all(hosts)) == [0]
    assert hosts._expires_s == 10.5
    assert hosts.expire(10.5) == []
    assert (hosts._expires_s, hosts.expire(10.999)) == (11.0, [])
    assert [(call.key, since_s) for call, since_s in hosts.expire(11.0)] == [(2, 10.0)]
    assert [call.key for call, _ in hosts.expire(13.0)] == [1, 3]
    assert hosts._expires_s == math.inf


def test_a_host_whose_connections_carry_many_calls_has_places_for_all() -> None:
    hosts = Hosts(1)
    for key in range(4):
        hosts.add(a_call(key), 1.0)
    (first,) = take_all(hosts)
    hosts.expand(first.host)
    assert keys_of(take_all(hosts)) == [1, 2, 3]


async def test_calls_that_wait_can_be_cancelled_and_time_out_beside_one_that_is_under_way(
    open_caller: OpenCaller, target: Target
) -> None:
    caller = open_caller(connections_per_host_max=1)
    answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    target.on("/later", lambda _: answer)
    caller.submit(f"{target.url}/later", range(1))
    await target.wait_for_hits(1)
    caller.submit(f"{target.url}/ok", range(1, 3), timeout_ms=100)
    caller.submit(f"{target.url}/ok", range(3, 6))
    caller.executor.cancel([4])
    replies = await caller.answered(3)
    assert {reply.key: reply.failure for reply in replies} == {
        1: HttpFailure.TIMEOUT,
        2: HttpFailure.TIMEOUT,
        4: HttpFailure.CANCELLED,
    }
    answer.set_result(Answer())
    assert [(reply.key, reply.status) for reply in (await caller.answered(6))[3:]] == [(0, 200), (3, 200), (5, 200)]
    assert target.hits_total == 3
