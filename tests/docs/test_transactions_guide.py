"""The guide to transactions, carried out as it stands there."""

import importlib
import re
import sys
from pathlib import Path

import asyncpg
import psycopg
import pytest
from psycopg import sql

from dueline.domain import limits

TEXT = (Path(__file__).parents[2] / "docs" / "guides" / "transactions.md").read_text()
ORDERS = "CREATE TABLE orders (customer text, cents integer)"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_statements_of_the_guide_work(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(ORDERS)
        transaction, calls, grants = blocks("sql")
        for statement in (transaction, calls):
            connection.execute(statement.encode())
        ((runs,),) = connection.execute("SELECT count(*) FROM dueline.runs").fetchall()
        assert runs == 5
        connection.execute("CREATE ROLE shop")
        connection.execute(grants.encode())
        connection.execute("SET ROLE shop")
        connection.execute("SELECT dueline.enqueue(task => 'charge')")
        connection.execute("RESET ROLE")
        connection.execute("DROP OWNED BY shop")
        connection.execute("DROP ROLE shop")


async def test_the_program_of_the_guide_works(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (program,) = blocks("python")
    (tmp_path / "shop.py").write_text(program)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    shop = importlib.import_module("shop")
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(ORDERS)
        assert shop.buy(connection, "ada", 500).startswith("run_")
    later = await asyncpg.connect(postgres_dsn)
    assert len(await shop.buy_later(later, "bob", 10)) == 2
    assert await later.fetchval("SELECT count(*) FROM dueline.runs") == 3
    await later.close()
    sys.modules.pop("shop")


def test_every_argument_is_told(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        question = sql.SQL("SELECT proargnames FROM pg_proc WHERE oid = 'dueline.enqueue'::regproc")
        ((names,),) = connection.execute(question).fetchall()
    told = [name for row in re.findall(r"^\| (`.*?`) \| `", TEXT, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(told) == sorted(names)


def test_the_numbers_are_those_of_the_limits() -> None:
    assert f"up to {limits.RUNS_PER_CALL_MAX:,} in one statement" in TEXT
    assert f"up to {limits.PAYLOAD_BYTES_MAX // 1024} KiB" in TEXT
