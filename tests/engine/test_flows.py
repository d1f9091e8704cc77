"""What is known of turns goes when they are over: the sweep forgets it."""

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget
from tests.support.cluster import Cluster
from tests.support.stores import StoreUnderTest
from tests.support.target import Target


async def test_flows_are_forgotten_when_their_runs_have_started(under_test: StoreUnderTest, target: Target) -> None:
    cluster = Cluster(under_test)
    await cluster.add()
    execution = Execution(target=HttpTarget(url=target.url))
    await cluster.operations.enqueue(DEFAULT_TENANT, [AdhocRun(execution=execution) for _ in range(20)])
    await cluster.advance(40)
    assert len(target.hits) == 20
    assert await under_test.store.forget_flows(limit=10) == 0
    cluster.close()
