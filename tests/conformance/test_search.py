"""Searching jobs: by words in their names, their tags, and what they call."""

from typing import Any

import pytest

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.job import HttpTarget, TaskTarget
from dueline.domain.states import JobState
from dueline.domain.words import words_in
from dueline.store.postgres import jobs as jobs_part
from dueline.store.protocol import Store
from dueline.store.shapes import JobFilter
from tests.support.stores import TENANT, StoreUnderTest, a_definition, a_job, changing, create

PAGES_MAX = 100


async def names(store: Store, *words: str, limit: int = 100, before: JobId | None = None, **match: Any) -> list[str]:
    sought = words_in(" ".join(words))
    found = await store.jobs_with(JobFilter(tenant=TENANT, **match), sought, before=before, limit=limit)
    return [job.definition.name for job in found.jobs]


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


@pytest.fixture(params=[1, 1_000], ids=["by the index", "among the newest"])
def looked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a store looks at the newest jobs first, it finds the same whether they are enough or not."""
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", request.param)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["report"], ["100%_sure", "Nightly Report"]),
        (["REPORT"], ["100%_sure", "Nightly Report"]),
        (["reports"], ["100%_sure"]),
        (["night", "rep"], ["Nightly Report"]),
        (["port"], []),
        (["report", "finance"], ["Nightly Report"]),
        (["report", "invoices"], []),
        (["Größe"], ["Nightly Report"]),
        (["gRößE"], ["Nightly Report"]),
        (["GRÖßE"], []),
        (["röße"], []),
        (["invoices?kind=PAID"], ['quoted","url":"x']),
        (["https://api."], ['quoted","url":"x']),
        (["example.com/v1"], ['quoted","url":"x']),
        (["v1/example"], ['quoted","url":"x']),
        (["weekly"], ["100%_sure"]),
        (["100%_"], ["100%_sure"]),
        (["100%sure"], ["100%_sure"]),
        (["1%e"], []),
        (['"url"'], ['quoted","url":"x']),
        (["quo'ted"], []),
        (["reportfinance"], []),
        (["hidden"], []),
        (["argument"], []),
        (["execution"], []),
        (["slow"], []),
        (["http"], ['quoted","url":"x', "Nightly Report"]),
    ],
    ids=str,
)
async def test_words_are_found_by_their_beginnings_in_names_tags_and_targets(
    store: Store, jobs: dict[str, JobId], words: list[str], found: list[str]
) -> None:
    assert jobs
    assert await names(store, *words) == found


@pytest.mark.usefixtures("looked")
@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("日本語、報告", "報告"),
        ("before\u00a0after", "after"),
        ("„quoted“", "quoted"),
        ("x…y", "y"),
        ("naïve café", "CAFé"),
        ("\U0001f680 start", "\U0001f680"),
        ("a.b", "b"),
        ("l" * limits.NAME_LETTERS_MAX, "l" * limits.NAME_LETTERS_MAX),
    ],
)
async def test_words_are_cut_alike_by_whoever_cuts_them(store: Store, name: str, word: str) -> None:
    await create(store, a_job(name))
    await create(store, a_job("another"))
    assert await names(store, word) == [name]


@pytest.mark.usefixtures("looked")
async def test_of_a_word_that_is_very_long_the_beginning_counts(store: Store) -> None:
    token = "T" * (limits.URL_LETTERS_MAX - 200)
    await create(store, a_job("long", target=HttpTarget(url=f"https://example.com/{token}/behind?{token}")))
    assert await names(store, "behind") == ["long"]
    assert await names(store, token) == ["long"]
    assert await names(store, "t" * limits.WORD_LETTERS_MAX) == ["long"]
    assert await names(store, "t" * (limits.WORD_LETTERS_MAX - 1) + "u") == []


@pytest.mark.parametrize("tenant", ["it's", "back\\slash", "a&b", "ü|(x)", "def"])
@pytest.mark.usefixtures("looked")
async def test_tenants_of_any_name_find_their_own(store: Store, tenant: str) -> None:
    match = JobFilter(tenant=tenant)
    await create(store, a_job("ault nightly", tenant="default"))
    mine = await create(store, a_job("nightly", tenant=tenant))
    found = await store.jobs_with(match, ("nightly",), before=None, limit=10)
    assert [job.id for job in found.jobs] == [mine.id]


@pytest.mark.usefixtures("looked")
async def test_filters_count_as_well(store: Store, jobs: dict[str, JobId]) -> None:
    assert jobs
    assert await names(store, "report", queue="slow") == ["100%_sure"]
    assert await names(store, "report", target_type="http") == ["Nightly Report"]
    assert await names(store, "report", tag="finance") == ["Nightly Report"]
    assert await names(store, "report", tag="finance", state=JobState.ACTIVE, queue="slow") == []
    assert await names(store, "report", state=JobState.PAUSED) == []


@pytest.mark.usefixtures("looked")
async def test_a_tag_that_is_filtered_by_is_that_tag(store: Store) -> None:
    await create(store, a_job("apart", tags=("team", "seven")))
    await create(store, a_job("together", tags=("team-seven",)))
    await create(store, a_job("longer", tags=("team-seventy",)))
    await create(store, a_job("signs", tags=("%%",)))
    for tag, found in [("team-seven", ["together"]), ("seven", ["apart"]), ("Team-Seven", [])]:
        assert await names(store, "t", tag=tag) == found
    assert await names(store, "signs", tag="%%") == ["signs"]


@pytest.mark.usefixtures("looked")
async def test_what_a_job_is_now_counts_and_deleted_ones_do_not(store: Store, jobs: dict[str, JobId]) -> None:
    job_id = jobs["Nightly Report"]
    await store.change_job(TENANT, job_id, changing(definition=a_definition("renamed", queue="slow")))
    assert await names(store, "night") == []
    assert await names(store, "renamed") == ["renamed"]
    assert await names(store, "renamed", queue="slow") == ["renamed"]
    assert await names(store, "renamed", queue="default") == []
    await store.change_job(TENANT, job_id, changing(state=JobState.PAUSED))
    assert await names(store, "renamed", state=JobState.PAUSED) == ["renamed"]
    await store.change_job(TENANT, job_id, changing(deleted=True))
    assert await names(store, "renamed") == []
    found = await store.jobs_with(JobFilter(tenant="other"), ("report",), before=None, limit=10)
    assert found.jobs == []


@pytest.mark.parametrize("looked_first", [1, 2, 3, 1_000])
async def test_a_page_is_full_unless_it_is_the_last(
    store: Store, monkeypatch: pytest.MonkeyPatch, looked_first: int
) -> None:
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", looked_first)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)
    made = [await create(store, a_job(f"{'rare' if number % 4 == 0 else 'plain'} {number}")) for number in range(14)]
    rare = sorted((job.id for job in made[::4]), reverse=True)
    match = JobFilter(tenant=TENANT)
    for before, limit, expected in [
        (None, 3, rare[:3]),
        (None, 4, rare),
        (None, 9, rare),
        (rare[0], 2, rare[1:3]),
        (rare[-1], 2, []),
    ]:
        found = await store.jobs_with(match, ("rare",), before=before, limit=limit)
        assert [job.id for job in found.jobs] == expected


async def walk(store: Store, *words: str, limit: int, **match: Any) -> tuple[list[JobId], int]:
    """All that have some words, page after page as the API asks for them, and how many pages that took."""
    seen: list[JobId] = []
    before: JobId | None = None
    for pages in range(1, PAGES_MAX):
        found = await store.jobs_with(JobFilter(tenant=TENANT, **match), words, before=before, limit=limit + 1)
        shown = [job.id for job in found.jobs[:limit]]
        assert all(found.edge is None or job_id >= found.edge for job_id in shown), "what is above the edge is told"
        seen += shown
        before = shown[-1] if len(found.jobs) > limit else found.edge
        if before is None:
            return seen, pages
    raise AssertionError("the list does not end")


BLOCKS = {
    "one": "0",
    "one each": "n",
    "two each": "n / 2",
    "five each": "n / 5",
    "one after the other": "n % 3",
    "the other way round": "20 - n / 4",
}


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
@pytest.mark.parametrize("limit", [1, 2, 3, 20])
async def test_a_search_that_stops_after_each_block_leaves_nothing_out(
    under_test: StoreUnderTest, monkeypatch: pytest.MonkeyPatch, limit: int, block: str
) -> None:
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", 1)
    monkeypatch.setattr(limits, "JOBS_LOOKED_UP_MAX", 2)
    monkeypatch.setattr(limits, "SEARCH_PATIENCE_MS", 0)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)
    store = under_test.store
    made: list[JobId] = []
    for number in range(14):
        name = f"{'rare' if number in (0, 1, 2, 7, 13) else 'plain'} {number}"
        tenant = "other" if number in (5, 6, 12) else TENANT
        made.append((await create(store, a_job(name, tenant=tenant, tags=("even",) if number % 2 == 0 else ()))).id)
    if under_test.dialect == "postgres":
        await under_test.tamper(
            f"UPDATE job_words AS w SET block = {block}"
            " FROM (SELECT id, row_number() OVER (ORDER BY id) - 1 AS n FROM jobs) AS j WHERE w.id = j.id"
        )
    await store.change_job(TENANT, made[1], changing(state=JobState.PAUSED))
    asked: list[tuple[list[str], dict[str, Any], tuple[int, ...]]] = [
        (["rare"], {}, (13, 7, 2, 1, 0)),
        (["plain"], {}, (11, 10, 9, 8, 4, 3)),
        (["p"], {"queue": "default"}, (11, 10, 9, 8, 4, 3)),
        (["rare", "13"], {}, (13,)),
        (["rare"], {"state": JobState.PAUSED}, (1,)),
        (["rare"], {"state": JobState.ACTIVE}, (13, 7, 2, 0)),
        (["plain"], {"tag": "even"}, (10, 8, 4)),
        (["nowhere"], {}, ()),
    ]
    for words, match, numbers in asked:
        seen, pages = await walk(store, *words, limit=limit, **match)
        assert seen == [made[number] for number in numbers], (words, match)
        assert pages <= 2 * len(made)


async def test_blocks_that_few_jobs_are_left_of_are_put_together(
    under_test: StoreUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if under_test.dialect == "sqlite":
        pytest.skip("has no blocks")
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", 1)
    monkeypatch.setattr(limits, "SEARCH_PATIENCE_MS", 0)
    monkeypatch.setattr(limits, "WORDS_MOVED_MAX", 4)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)
    store = under_test.store
    made = [(await create(store, a_job(f"few {number}"))).id for number in range(12)]
    await under_test.tamper(
        "UPDATE job_words AS w SET block = 3 * j.n"
        " FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM jobs) AS j WHERE w.id = j.id"
    )
    assert await walk(store, "few", limit=20) == (made[::-1], 12)
    passes = [await store.forget_deleted(keep_days=1, limit=10) for _ in range(4)]
    assert passes == [True, True, False, False]
    assert await walk(store, "few", limit=20) == (made[::-1], 2)


async def test_a_page_tells_how_far_it_looked_and_of_no_one_elses_jobs(
    under_test: StoreUnderTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if under_test.dialect == "sqlite":
        pytest.skip("looks at all of them")
    monkeypatch.setattr(limits, "JOBS_LOOKED_FIRST", 1)
    monkeypatch.setattr(limits, "SEARCH_PATIENCE_MS", 0)
    monkeypatch.setattr(jobs_part, "_LOOKED_FOR_ONE", 0)
    store = under_test.store
    oldest, middle = [await create(store, a_job(name)) for name in ("old", "hay")]
    *_, theirs = [await create(store, a_job(name, tenant="other")) for name in ("old", "hay")]
    await create(store, a_job("new"))
    await under_test.tamper(
        "UPDATE job_words AS w SET block = j.n"
        " FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM jobs) AS j WHERE w.id = j.id"
    )
    found = await store.jobs_with(JobFilter(tenant=TENANT), ("old",), before=None, limit=2)
    assert found.jobs == []
    assert found.edge is not None
    assert middle.id < found.edge < theirs.id
    found = await store.jobs_with(JobFilter(tenant=TENANT), ("old",), before=middle.id, limit=2)
    assert ([job.id for job in found.jobs], found.edge) == ([oldest.id], None)
