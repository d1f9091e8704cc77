"""A copy has all that the source has, whatever happens meanwhile, and only one of both can be served."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import asyncpg
import pytest

from dueline.domain.errors import Conflict, Invalid, SchemaRefused, StoreMoved
from dueline.runtime.clock import SystemClock
from dueline.store.copying import copier
from dueline.store.copying.opening import make_source
from dueline.store.copying.tables import COPIED
from dueline.store.opening import is_embedded, make_store
from tests.store.copying.filling import FEW, a_file, add, change, contents
from tests.store.copying.sides import Calls, Died, Ear, contents_at, copy

DEATHS = [
    *[
        ("begin", 1),
        ("track", 1),
        ("load", 1),
        ("load", 2),
        ("load", 9),
        ("changes", 1),
        ("apply", 1),
        ("at", 1),
        ("at", 3),
    ],
    *[("forget_changes", 1), ("forget_changes", 3), ("gather_statistics", 1), ("between", 1), ("snapshot ends", 9)],
    *[("write_stop", 1), ("insist_tracked", 1), ("set_zones", 1), ("seal", 1), ("write_stop ends", 1), ("release", 1)],
]
MANY = 2 * copier.PAGE_ROWS + 1


@pytest.fixture(params=["sqlite", "postgres"])
def to(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database of either kind."""
    if request.param == "sqlite":
        return str(tmp_path / "target.db")
    dsn: str = request.getfixturevalue("postgres_dsn")
    return dsn


async def is_served(address: str) -> bool:
    """Whether a process would start there."""
    store = make_store(address, SystemClock())
    try:
        await store.open()
        await store.migrate()
    except (StoreMoved, SchemaRefused):
        return False
    finally:
        await store.close()
    return True


def damage(address: str, statement: str) -> None:
    """What somebody else does to the target, from a thread of its own where that takes a loop."""
    if is_embedded(address):
        change(Path(address), statement)
        return

    async def execute() -> None:
        connection = await asyncpg.connect(address, server_settings={"search_path": "dueline"})
        await connection.execute(statement)
        await connection.close()

    with ThreadPoolExecutor(max_workers=1) as executor:
        executor.submit(asyncio.run, execute()).result()


async def test_everything_is_there_and_the_source_is_sealed(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db", history=MANY, jobs=copier.PAGE_ROWS, requests=copier.PAGE_ROWS + 1)
    change(source, "UPDATE shards SET tzdata = '2026a'")
    before = contents(source)
    report = await copy(source, to)
    assert await contents_at(to) == before == contents(source)
    assert report.rows == {table.name: before[table.name].total() for table in COPIED}
    assert report.rows["history"] == MANY
    assert await is_served(to)
    assert not await is_served(str(source))


async def test_tags_and_words_are_found_and_zones_known_in_postgres(tmp_path: Path, postgres_dsn: str) -> None:
    source = await a_file(tmp_path / "a.db")
    change(source, "UPDATE shards SET tzdata = '2026a'", "UPDATE jobs SET deleted_ms = NULL")
    tags = "UPDATE jobs SET tags = char(31) || 'new' || char(31)"
    await copy(source, postgres_dsn, Ear(everything=lambda: change(source, tags)))
    connection = await asyncpg.connect(postgres_dsn)
    try:
        found = await connection.fetch("SELECT tag, count(*) FROM dueline.job_tags GROUP BY tag")
        assert [tuple(row) for row in found] == [("new", FEW)]
        worded = (
            "SELECT count(*) FROM dueline.job_words AS w JOIN dueline.jobs AS j USING (id) WHERE w.words @@ $1::tsquery"
        )
        everyone = [
            f"'{tenant}\x1fnew'" for tenant in await connection.fetchval("SELECT array_agg(tenant) FROM dueline.jobs")
        ]
        assert await connection.fetchval(worded, " | ".join(everyone).replace("t ' ", "t '' ")) == FEW
        assert await connection.fetchval("SELECT count(*) FROM dueline.shards WHERE tzdata = '2026a'") == 256
        days = "SELECT count(*) FROM dueline.history_other"
        assert await connection.fetchval(days) == 0, "every day has its partition"
    finally:
        await connection.close()


async def test_what_changes_at_any_moment_of_the_copy_is_copied(tmp_path: Path, to: str) -> None:
    """Rows before and behind the place where the copy is, of every table, come, change and go; jobs swap their names."""
    source = await a_file(tmp_path / "a.db", jobs=20, runs=20, history=20)
    change(source, "UPDATE jobs SET deleted_ms = NULL, tenant = 't', name = 'n' || version")
    numbers = iter(range(1_000, 2_000, 10))

    def stir() -> None:
        number = next(numbers)
        for table in COPIED:
            add(source, table.name, range(number, number + 3))
            change(
                source,
                f"DELETE FROM {table.name} WHERE {table.key[-1]} = (SELECT min({table.key[-1]}) FROM {table.name})",
            )
        change(
            source,
            "UPDATE runs SET token = token + 1",
            "UPDATE jobs SET name = 'passing' WHERE id = (SELECT max(id) FROM jobs WHERE tenant = 't')",
            "UPDATE jobs SET name = 'x' || name WHERE tenant = 't' AND name <> 'passing'",
            "UPDATE jobs SET name = 'n' || hex(id) WHERE name = 'passing'",
        )

    moments = [
        "copied_tenants",
        "copied_jobs",
        "copied_history_sweeps",
        "everything",
        "compared_jobs",
        "compared_history_sweeps",
    ]
    ear = Ear(**dict.fromkeys(moments, stir))
    await copy(source, to, ear)
    assert set(moments) <= set(ear.heard)
    assert await contents_at(to) == contents(source)


async def test_a_name_that_another_job_had_when_it_was_copied_is_no_obstacle(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    change(
        source,
        "UPDATE jobs SET deleted_ms = NULL, tenant = 't', name = 'n' || version, tags = char(31) || 'a' || char(31)",
    )

    def swap() -> None:
        change(
            source,
            "UPDATE jobs SET name = 'aside' WHERE name = 'n0'",
            "UPDATE jobs SET name = 'n0' WHERE name = 'n6'",
            "UPDATE jobs SET name = 'n6' WHERE name = 'aside'",
        )

    await copy(source, to, Ear(copied_jobs=swap, everything=swap, compared_jobs=swap))
    assert await contents_at(to) == contents(source)


async def test_a_copier_that_dies_anywhere_is_started_again(
    tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every life goes on where the one before ended, and ends before the next kind of call."""
    monkeypatch.setattr(copier, "PAGE_ROWS", 4)
    source = await a_file(tmp_path / "a.db")
    begun = False
    for number, (name, nth) in enumerate(DEATHS):
        calls = Calls(before=name, nth=nth)
        with pytest.raises(Died, match=name):
            await copy(source, to, calls=calls)
        begun = begun or "begin" in calls.names
        goes_on = await is_served(str(source))
        assert goes_on == (name != "release")
        assert not (begun and await is_served(to))
        if goes_on:
            add(source, "uniques", range(10_000 + 10 * number, 10_010 + 10 * number))
            change(source, "UPDATE runs SET lost = lost + 1")
    await copy(source, to)
    assert await contents_at(to) == contents(source)
    assert await is_served(to)
    assert not await is_served(str(source))


async def test_a_row_that_differs_is_found_and_the_next_copy_starts_over(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    with pytest.raises(Conflict, match="1 rows of ledger differ"):
        await copy(
            source,
            to,
            Ear(everything=lambda: damage(to, "UPDATE ledger SET reason = 'x' WHERE version = 2")),
        )
    assert await is_served(str(source))
    assert not await is_served(to)
    await copy(source, to)
    assert await contents_at(to) == contents(source)


@pytest.mark.parametrize(
    "statement", ["DELETE FROM places", "INSERT INTO queue_pauses (queue, note, since_ms) VALUES ('zzz', NULL, 1)"]
)
async def test_rows_too_few_or_too_many_are_found(tmp_path: Path, to: str, statement: str) -> None:
    source = await a_file(tmp_path / "a.db")
    with pytest.raises(Conflict, match="differ in the target"):
        await copy(source, to, Ear(everything=lambda: damage(to, statement)))
    assert await is_served(str(source))


async def test_a_write_stop_that_takes_too_long_is_given_up(
    tmp_path: Path, to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "STOP_S_MAX", -1.0)
    source = await a_file(tmp_path / "a.db")
    ear = Ear()
    with pytest.raises(Conflict, match="too fast"):
        await copy(source, to, ear)
    assert ear.heard.count("write") == copier.STOPS_MAX
    add(source, "runs", [500])
    assert await is_served(str(source))
    monkeypatch.undo()
    await copy(source, to)
    assert await contents_at(to) == contents(source)


async def test_a_target_that_holds_something_is_refused(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    store = make_store(to, SystemClock())
    await store.open()
    await store.migrate()
    await store.close()
    damage(to, "INSERT INTO queue_pauses (queue, note, since_ms) VALUES ('mail', NULL, 1)")
    with pytest.raises(Conflict, match="rows in queue_pauses"):
        await copy(source, to)
    assert await is_served(to)
    assert await is_served(str(source))


async def test_a_half_copy_of_another_source_is_left_alone(tmp_path: Path, to: str) -> None:
    one, other = await a_file(tmp_path / "a.db"), await a_file(tmp_path / "b.db")
    with pytest.raises(Died):
        await copy(one, to, calls=Calls(40))
    with pytest.raises(Conflict, match="holds a copy of"):
        await copy(other, to)
    with pytest.raises(Conflict, match="finish that one, or give it up with --abandon"):
        await copy(one, str(tmp_path / "c.db"))


async def test_two_copiers_of_one_source_exclude_each_other(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    one = make_source(str(source), SystemClock())
    await one.open()
    try:
        with pytest.raises(Conflict, match="under way"):
            await copy(source, to)
    finally:
        await one.close()


async def test_a_schema_that_changes_meanwhile_is_noticed(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    with pytest.raises(Conflict, match="was changed meanwhile"):
        await copy(source, to, Ear(everything=lambda: change(source, "DROP TRIGGER copy_changed_runs_update")))
    assert await is_served(str(source))


async def test_a_table_that_no_copy_knows_is_not_left_behind_in_silence(tmp_path: Path, to: str) -> None:
    source = await a_file(tmp_path / "a.db")
    change(source, "CREATE TABLE novelties (id BLOB)")
    with pytest.raises(Conflict, match="novelties"):
        await copy(source, to)


async def test_only_files_of_dueline_are_copied(tmp_path: Path, to: str) -> None:
    with pytest.raises(Invalid, match="there is no file"):
        await copy(tmp_path / "none.db", to)
    change(tmp_path / "other.db", "CREATE TABLE t (a)")
    with pytest.raises(Invalid, match="not a database of Dueline's"):
        await copy(tmp_path / "other.db", to)
    (tmp_path / "text.db").write_text("no database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(SchemaRefused, match="damaged"):
        await copy(tmp_path / "text.db", to)
    assert not [name for name in os.listdir(tmp_path) if name.startswith("none")]
