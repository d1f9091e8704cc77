"""Searching jobs: by words in their names, their tags, and what they call."""

from typing import Any

import pytest

from dueline.domain.ids import JobId
from dueline.domain.job import HttpTarget, TaskTarget
from dueline.domain.states import JobState
from dueline.store.protocol import Store
from dueline.store.shapes import JobFilter
from dueline.store.words import Words
from tests.support.stores import TENANT, a_definition, a_job, changing, create


async def names(store: Store, *words: str, limit: int = 100, before: JobId | None = None, **match: Any) -> list[str]:
    found = await store.jobs_with(JobFilter(tenant=TENANT, **match), Words(words), before=before, limit=limit)
    return [job.definition.name for job in found]


@pytest.fixture
async def jobs(store: Store) -> dict[str, JobId]:
    """Some that differ in what can be searched, oldest first."""
    call = HttpTarget(url="https://api.example.com/v1/Invoices?kind=paid", body={"url": "https://hidden.example.org"})
    made = [
        a_job("Nightly Report", target=HttpTarget(url="http://target/"), tags=("finance", "Größe")),
        a_job('quoted","url":"x', target=call),
        a_job("100%_sure", target=TaskTarget(task="reports.weekly", args={"url": "http://argument/"}), queue="slow"),
    ]
    return {job.definition.name: (await create(store, job)).id for job in made}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["report"], ["100%_sure", "Nightly Report"]),
        (["REPORT"], ["100%_sure", "Nightly Report"]),
        (["night", "port"], ["Nightly Report"]),
        (["report", "finance"], ["Nightly Report"]),
        (["report", "invoices"], []),
        (["Größe"], ["Nightly Report"]),
        (["gRößE"], ["Nightly Report"]),
        (["GRÖßE"], []),
        (["invoices?kind=PAID"], ['quoted","url":"x']),
        (["https://api."], ['quoted","url":"x']),
        (["weekly"], ["100%_sure"]),
        (["100%_"], ["100%_sure"]),
        (["1%e"], []),
        (["s_re"], []),
        (["\\"], []),
        (['"url"'], ['quoted","url":"x']),
        (["reportfinance"], []),
        (["hidden"], []),
        (["argument"], []),
        (["execution"], []),
        (["slow"], []),
    ],
    ids=str,
)
async def test_words_are_found_anywhere_in_names_tags_and_targets(
    store: Store, jobs: dict[str, JobId], words: list[str], found: list[str]
) -> None:
    assert jobs
    assert await names(store, *words) == found


async def test_filters_count_as_well(store: Store, jobs: dict[str, JobId]) -> None:
    assert jobs
    assert await names(store, "report", queue="slow") == ["100%_sure"]
    assert await names(store, "report", target_type="http") == ["Nightly Report"]
    assert await names(store, "report", tag="finance") == ["Nightly Report"]
    assert await names(store, "report", tag="finance", state=JobState.ACTIVE, queue="slow") == []
    assert await names(store, "report", state=JobState.PAUSED) == []


async def test_what_a_job_is_now_counts_and_deleted_ones_do_not(store: Store, jobs: dict[str, JobId]) -> None:
    job_id = jobs["Nightly Report"]
    await store.change_job(TENANT, job_id, changing(definition=a_definition("renamed")))
    assert await names(store, "night") == []
    assert await names(store, "renamed") == ["renamed"]
    await store.change_job(TENANT, job_id, changing(deleted=True))
    assert await names(store, "renamed") == []
    found = await store.jobs_with(JobFilter(tenant="other"), Words(("report",)), before=None, limit=10)
    assert found == []


async def test_it_goes_from_one_id_down_to_another_with_it(store: Store, jobs: dict[str, JobId]) -> None:
    oldest, middle, newest = sorted(jobs.values())
    match = JobFilter(tenant=TENANT)
    for before, down_to, expected in [
        (None, None, [newest, middle, oldest]),
        (None, middle, [newest, middle]),
        (newest, middle, [middle]),
        (middle, None, [oldest]),
        (middle, middle, []),
    ]:
        found = await store.jobs_with(match, Words(("t",), down_to), before=before, limit=10)
        assert [job.id for job in found] == expected
    assert len(await names(store, "t", limit=2)) == 2


async def test_the_edge_is_the_last_of_so_many_jobs(store: Store, jobs: dict[str, JobId]) -> None:
    oldest, middle, newest = sorted(jobs.values())
    match = JobFilter(tenant=TENANT)
    for before, rows, expected in [(None, 1, newest), (None, 3, oldest), (None, 4, None), (newest, 1, middle)]:
        assert await store.jobs_edge(match, before=before, rows=rows) == expected
    assert await store.jobs_edge(JobFilter(tenant="other"), before=None, rows=1) is None
    for filters in ({"queue": "slow"}, {"tag": "finance"}, {"target_type": "task"}, {"state": JobState.ACTIVE}):
        edge = await store.jobs_edge(JobFilter(tenant=TENANT, **filters), before=None, rows=1)
        assert edge in jobs.values()
