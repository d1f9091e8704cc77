"""The function `dueline.enqueue`, as any language calls it: what it writes, what it refuses, and who may use it."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import psycopg
import pytest
from psycopg import sql

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.ids import parse_run_id
from dueline.domain.instants import INSTANT_MS_MAX, format_instant
from dueline.domain.job import DEFAULT_TENANT, Execution, HttpTarget, TaskTarget
from dueline.domain.retry import Backoff, RetryPolicy
from dueline.domain.run import Run
from dueline.domain.states import RunKind, RunState
from dueline.store.postgres.notices import CHANNEL
from dueline.store.postgres.store import PostgresStore
from dueline.wire.policies import RetryForm, to_retry
from dueline.wire.problems import Problems
from dueline.wire.reading import encode, read_body, read_value
from dueline.wire.runs import AdhocInput, to_spec
from dueline.wire.targets import _HEADERS_REFUSED

Connection = psycopg.Connection[tuple[Any, ...]]
Refused = psycopg.errors.InvalidParameterValue


@pytest.fixture
def connection(postgres_dsn: str) -> Iterator[Connection]:
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection


def call(connection: Connection, **arguments: Any) -> str:
    """`SELECT dueline.enqueue(name => value, …)`, with the values left to the server to read."""
    named = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(name), sql.Literal(value)) for name, value in arguments.items()
    )
    rows = connection.execute(sql.SQL("SELECT dueline.enqueue({})").format(named)).fetchall()
    return str(rows[0][0])


def column(connection: Connection, name: str, run_id: str) -> Any:
    question = sql.SQL("SELECT {} FROM dueline.runs WHERE dueline.run_text(id) = %s").format(sql.Identifier(name))
    rows = connection.execute(question, [run_id]).fetchall()
    return rows[0][0]


def execution(connection: Connection, run_id: str) -> Execution:
    return msgspec.json.decode(column(connection, "spec", run_id), type=Execution)


async def read(dsn: str, run_id: str) -> Run:
    store = PostgresStore(dsn)
    await store.open()
    run = await store.run(DEFAULT_TENANT, parse_run_id(run_id))
    await store.close()
    assert run is not None
    return run


async def test_a_run_of_a_task_is_written_as_if_it_came_over_http(connection: Connection, postgres_dsn: str) -> None:
    run_id = call(
        connection,
        task="charge",
        args='{"customer": "ada", "cents": [1.50, null]}',
        due_at="2099-12-24T18:00:00Z",
        queue="mail",
        priority=9,
        tags=["a", "größe"],
        fairness_key="ada",
        region="eu",
        requires=["gpu", "Big"],
        timeout="5 min",
        run_timeout="1 h",
        expires_after="2 d",
        delivery="at_most_once",
        retry='{"max_attempts": 3, "backoff": "fixed", "base_ms": 60000}',
    )
    run = await read(postgres_dsn, run_id)
    assert (run.kind, run.state, run.job_id, run.queue, run.priority) == (
        RunKind.ADHOC,
        RunState.SCHEDULED,
        None,
        "mail",
        9,
    )
    assert (run.tags, format_instant(run.due_ms)) == (("a", "größe"), "2099-12-24T18:00:00.000Z")
    assert run.due_ms == run.scheduled_ms
    asked = Execution(
        target=TaskTarget(task="charge", args={"customer": "ada", "cents": [1.5, None]}),
        retry=RetryPolicy(max_attempts=3, backoff=Backoff.FIXED, base_ms=60_000),
        timeout_ms=300_000,
        run_timeout_ms=3_600_000,
        expires_after_ms=172_800_000,
        delivery=execution(connection, run_id).delivery,
        requires=("Big", "gpu"),
    )
    assert execution(connection, run_id) == asked
    assert column(connection, "lane", run_id) == asked.lane
    assert column(connection, "expires_ms", run_id) == asked.expires_ms(run.due_ms)
    assert column(connection, "fairness_key", run_id) == "ada"


async def test_without_anything_else_it_has_every_default_and_is_due_at_once(
    connection: Connection, postgres_dsn: str
) -> None:
    run_id = call(connection, task="t", args=None, queue=None, tags=None, retry=None, timeout=None, due_at=None)
    run = await read(postgres_dsn, run_id)
    assert execution(connection, run_id) == Execution(target=TaskTarget(task="t"))
    assert run.due_ms == run.scheduled_ms == run.created_ms
    assert (run.queue, run.priority, run.tags) == ("default", 5, ())
    assert column(connection, "fairness_key", run_id) is None
    assert column(connection, "lane", run_id) == "task"


def test_a_call_of_a_url(connection: Connection) -> None:
    run_id = call(
        connection,
        url="https://example.com:8443/a?b=c",
        method="put",
        headers='{"X-A": "b c"}',
        body='{"b": 1, "a": 2}',
    )
    target = HttpTarget(
        url="https://example.com:8443/a?b=c", method="PUT", headers={"X-A": "b c"}, body={"b": 1, "a": 2}
    )
    assert execution(connection, run_id).target == target
    assert column(connection, "spec", run_id).count('{"b": 1, "a": 2}') == 1, "it is sent in the order it was written"
    assert column(connection, "lane", run_id) == ""
    assert execution(connection, call(connection, url="HTTP://[::1]/", body='"text"')).target == HttpTarget(
        url="HTTP://[::1]/", body="text"
    )


def _accepted(ask: Callable[[], Any], *refusals: type[Exception]) -> bool:
    try:
        ask()
    except refusals:
        return False
    return True


CANDIDATES: list[tuple[str, list[Any]]] = [
    ("queue", ["a", "A.b_c-9", "x" * 100, "x" * 101, "", "a b", "a/b", "a\n", "ä", "٣"]),
    ("region", ["", "eu", "x" * 101, "a b"]),
    ("priority", [-1, 0, 9, 10]),
    ("fairness_key", ["", "ä b", "x" * 255, "x" * 256, "\x01", "\x7f", "\u2028", "a\tb"]),
    ("tags", [[], ["a"], ["a", "a"], [""], ["x" * 64], ["x" * 65], ["ä" * 64], ["a\nb"], ["\x9f"]]),
    ("tags", [[f"{n}" for n in range(32)], [f"{n}" for n in range(33)]]),
    ("requires", [["a"], ["a", "a"], ["task"], ["http"], ["a b"], [f"{n}" for n in range(16)]]),
    ("requires", [[f"{n}" for n in range(17)]]),
    ("delivery", ["at_least_once", "at_most_once", "once"]),
    ("timeout", ["PT0.1S", "PT0.099S", "PT24H", "PT24H0.001S", "P1D", "PT0S"]),
    ("run_timeout", ["PT0.1S", "PT0.099S", "P30D", "P30DT0.001S"]),
    ("expires_after", ["PT1S", "PT0.999S", "P30D", "P30DT0.001S"]),
    (
        "due_at",
        ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59-01:00", "1969-12-31T23:59:59Z", "2020-01-01T00:00:00Z"],
    ),
]


@pytest.mark.parametrize(("field", "candidates"), CANDIDATES)
def test_it_takes_what_http_takes_and_nothing_else(connection: Connection, field: str, candidates: list[Any]) -> None:
    """Everything on either side of every edge."""
    now_ms = _now_ms(connection)

    def over_http(value: Any) -> None:
        problems = Problems()
        asked = read_body(encode({"target": {"task": "t"}, field: value}), AdhocInput, problems)
        to_spec(asked, problems, now_ms=now_ms)
        problems.raise_any()

    for value in candidates:
        taken = _accepted(lambda value=value: call(connection, task="t", **{field: value}), Refused)  # type: ignore[misc]
        assert taken == _accepted(lambda value=value: over_http(value), Invalid), value  # type: ignore[misc]


def test_the_past_is_refused_from_a_minute_on(connection: Connection) -> None:
    with connection.transaction():
        connection.execute(
            "CREATE OR REPLACE FUNCTION dueline.now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT 1767225600000'"
        )
        call(connection, task="t", due_at="2025-12-31T23:59:00Z")
        with pytest.raises(Refused, match="due_at: lies more than a minute in the past"):
            call(connection, task="t", due_at="2025-12-31T23:58:59.999Z")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "task"),
        ({"task": "t", "url": "http://x/"}, "task"),
        ({"task": ""}, "task"),
        ({"task": " "}, "task"),
        ({"task": "x" * 201}, "task"),
        ({"task": "a\nb"}, "task"),
        ({"task": "t", "body": "1"}, "task"),
        ({"task": "t", "args": "[]"}, "args"),
        ({"task": "t", "args": "null"}, "args"),
        ({"task": "t", "args": '{"a": 1e400}'}, "args"),
        ({"task": "t", "args": '{"a": [-1e309]}'}, "args"),
        ({"task": "t", "tags": ["a", None]}, "tags"),
        ({"task": "t", "requires": [None]}, "requires"),
        ({"task": "t", "timeout": "1 month"}, "timeout"),
        ({"task": "t", "timeout": "-1 s"}, "timeout"),
        ({"task": "t", "due_at": "infinity"}, "due_at"),
        ({"task": "t", "due_at": "-infinity"}, "due_at"),
        ({"task": "t", "due_at": "294276-01-01Z"}, "due_at"),
        ({"task": "t", "tenant": ""}, "tenant"),
        ({"task": "t", "tenant": "a\r\nb"}, "tenant"),
        ({"url": "ftp://x"}, "url"),
        ({"url": "http://"}, "url"),
        ({"url": "http://a:b@c/"}, "url"),
        ({"url": "http://a/#b"}, "url"),
        ({"url": "http://a/{{run.id}}"}, "url"),
        ({"url": "http://a/ b"}, "url"),
        ({"url": "http://a/" + "x" * 4096}, "url"),
        ({"url": "http://a/", "args": "{}"}, "url"),
        ({"url": "http://a/", "method": "CONNECT"}, "method"),
        ({"url": "http://a/", "method": "A B"}, "method"),
        ({"url": "http://a/", "headers": "[]"}, "headers"),
        ({"url": "http://a/", "headers": '{"a": 1}'}, "headers"),
        ({"url": "http://a/", "headers": '{"a b": "c"}'}, "headers"),
        ({"url": "http://a/", "headers": '{"a": "b\\r\\nc: d"}'}, "headers"),
        ({"url": "http://a/", "headers": '{"a": " b"}'}, "headers"),
        ({"url": "http://a/", "headers": '{"a": "b", "A": "c"}'}, "headers"),
        ({"url": "http://a/", "headers": '{"Dueline-Run": "x"}'}, "headers"),
        ({"url": "http://a/", "headers": json.dumps({f"a{n}": "" for n in range(65)})}, "headers"),
        ({"url": "http://a/", "headers": json.dumps({"a": "x" * 8192})}, "headers"),
    ],
)
def test_what_is_wrong_is_refused_by_its_field(connection: Connection, arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=f"^{field}: "):
        call(connection, **arguments)


@pytest.mark.parametrize("name", sorted(_HEADERS_REFUSED))
def test_headers_that_dueline_sets_are_refused(connection: Connection, name: str) -> None:
    with pytest.raises(Refused, match="is set by Dueline itself"):
        call(connection, url="http://a/", headers=json.dumps({name.title(): "x"}))


def test_payloads_end_exactly_where_those_of_http_do(connection: Connection) -> None:
    room = limits.PAYLOAD_BYTES_MAX - len('{"a":""}')
    call(connection, task="t", args=json.dumps({"a": "x" * room}, separators=(",", ":")))
    with pytest.raises(Refused, match="args: may have 65536 bytes"):
        call(connection, task="t", args=json.dumps({"a": "x" * (room + 1)}, separators=(",", ":")))
    call(connection, url="http://a/", body=json.dumps("ä" * (limits.PAYLOAD_BYTES_MAX // 2)))
    with pytest.raises(Refused, match="body: may have 65536 bytes"):
        call(connection, url="http://a/", body=json.dumps("ä" * (limits.PAYLOAD_BYTES_MAX // 2) + "x"))
    inner = limits.JSON_DEPTH_MAX - 1
    call(connection, task="t", args='{"a":' + "[" * inner + "1" + "]" * inner + "}")
    with pytest.raises(Refused, match="args: must not be nested more than 64 levels deep"):
        call(connection, task="t", args='{"a":' + "[" * (inner + 1) + "]" * (inner + 1) + "}")
    for nothing in ('{"a": "\\u0000"}', '{"a": "\\ud800"}', "{"):
        with pytest.raises(psycopg.DataError):
            call(connection, task="t", args=nothing)


POLICIES: list[dict[str, Any]] = [
    {},
    {"max_attempts": 100, "base": "0s", "cap": "P7D", "max_elapsed": "P30D", "max_lost": 10},
    {"backoff": "list", "delays": ["1s"] * 100},
    {"backoff": "fixed", "base": "1h", "cap": "1s"},
    {"retry_on": [500, "5xx", "400-404", "timeout", "connection", "error"], "never_on": ["timeout"]},
    {"retry_on": []},
]


@pytest.mark.parametrize("form", POLICIES)
def test_every_retry_policy_of_http_is_taken(connection: Connection, form: dict[str, Any]) -> None:
    problems = Problems()
    policy = to_retry(read_value(form, RetryForm, problems), problems)
    problems.raise_any()
    run_id = call(connection, task="t", retry=encode(policy).decode())
    assert execution(connection, run_id).retry == policy


NONSENSE: list[Any] = [
    None,
    True,
    -1,
    0,
    1.5,
    10**13,
    "x",
    "",
    [],
    [1],
    ["x"],
    [[500]],
    [[500, 599]],
    [[1, 2]],
    {},
    {"a": 1},
]


@pytest.mark.parametrize("name", RetryPolicy.__struct_fields__)
def test_no_retry_policy_is_taken_that_a_worker_could_not_read(connection: Connection, name: str) -> None:
    conditions: list[Any] = [{part: value} for part in ("statuses", "kinds") for value in NONSENSE]
    values = [*NONSENSE, *conditions, {"kinds": ["lost"]}]
    taken = []
    for value in values:
        retry = json.dumps({"backoff": "list", "delays_ms": [1]} | {name: value})
        with contextlib.suppress(Refused):
            taken.append(execution(connection, call(connection, task="t", retry=retry)))
    assert len(taken) < len(values)


def test_bounds_of_retry_policies(connection: Connection) -> None:
    for good in ({"max_attempts": 1}, {"max_attempts": 100}, {"base_ms": 300_000}, {"cap_ms": 1_000}, {"max_lost": 10}):
        call(connection, task="t", retry=json.dumps(good))
    bad: list[dict[str, Any]] = [
        {"max_attempts": 101},
        {"base_ms": 300_001},
        {"cap_ms": 999},
        {"max_lost": 11},
        {"delays_ms": [1]},
        {"backoff": "list"},
        {"base_ms": 604_800_001, "backoff": "fixed"},
        {"max_elapsed_ms": 2_592_000_001},
        {"unknown": 1},
    ]
    for one in bad:
        with pytest.raises(Refused, match=r"^retry"):
            call(connection, task="t", retry=json.dumps(one))
    for shape in ("[]", "null", "5"):
        with pytest.raises(Refused, match="retry: must be an object"):
            call(connection, task="t", retry=shape)


def test_it_wakes_whoever_waits_at_the_commit_and_only_for_what_is_due_soon(
    connection: Connection, postgres_dsn: str
) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as listener:
        listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
        call(connection, task="t", due_at=format_instant(INSTANT_MS_MAX))
        with connection.transaction():
            call(connection, task="t")
            call(connection, task="t")
        with connection.transaction(force_rollback=True):
            call(connection, task="t")
        connection.execute(sql.SQL("NOTIFY {}, 'last'").format(sql.Identifier(CHANNEL)))
        heard = []
        for notice in listener.notifies(timeout=30):
            heard.append(notice.payload)
            if notice.payload == "last":
                break
    assert heard == ["waiting", "last"]


def test_a_role_needs_the_function_and_nothing_else(connection: Connection) -> None:
    connection.execute("DROP ROLE IF EXISTS shop")
    connection.execute("CREATE ROLE shop")
    try:
        connection.execute("GRANT USAGE ON SCHEMA dueline TO shop")
        connection.execute("SET ROLE shop")
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied for function enqueue"):
            call(connection, task="t")
        connection.execute("RESET ROLE")
        connection.execute("GRANT EXECUTE ON FUNCTION dueline.enqueue TO shop")
        connection.execute("SET ROLE shop")
        assert call(connection, task="t").startswith("run_")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM dueline.runs")
        # Whatever the caller makes of the names that it uses, the function means those of the system.
        connection.execute("CREATE FUNCTION pg_temp.lower(text) RETURNS text LANGUAGE sql AS 'SELECT $1'")
        connection.execute("SET search_path = pg_temp, public")
        assert call(connection, url="http://a/", headers='{"a": "b"}').startswith("run_")
    finally:
        connection.execute("RESET ROLE")
        connection.execute("RESET search_path")
        connection.execute("DROP OWNED BY shop CASCADE")
        connection.execute("DROP ROLE shop")


def _now_ms(connection: Connection) -> int:
    rows = connection.execute("SELECT dueline.now_ms()").fetchall()
    return int(rows[0][0])
