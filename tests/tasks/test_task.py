"""Tasks as functions, and what they ask a server for."""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dueline import App, Context
from dueline.domain.errors import Invalid
from dueline.domain.instants import parse_instant
from dueline.runtime.clock import SystemClock
from dueline.sdk.errors import Refused
from dueline.tasks.context import LocalContext, Progress
from tests.support.small_server import Answer, Question, SmallServer


class Api:
    """An API that takes whatever comes, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.status = 201

    def answer(self, asked: Question) -> Answer:
        body = json.loads(asked.body)
        self.asked.append((asked.path, body))
        answer: Any = {"id": f"id_{len(self.asked)}"}
        if "runs" in body:
            answer = {
                "items": [{"status": 201, "run": {"id": f"run_{number}"}} for number, _ in enumerate(body["runs"])]
            }
        return self.status, json.dumps(answer).encode()


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def server(api: Api) -> Iterator[SmallServer]:
    with SmallServer(api.answer) as server:
        yield server


@pytest.fixture
def app(server: SmallServer) -> Iterator[App]:
    app = App("shop", url=server.url, api_key="key")
    yield app
    app.close()


def send(day: str, count: int = 1) -> str:
    """Send a report.

    Slowly.
    """
    return f"{day} {count}"


def target(name: str, **args: Any) -> dict[str, Any]:
    return {"type": "task", "task": name, "args": args}


def test_a_task_is_still_its_function(app: App) -> None:
    bare = app.task(send)
    named = app.task(name="send", queue="mail")(send)
    assert bare("monday", 2) == bare.run("monday", count=2) == "monday 2"
    assert named("monday") == "monday 1"
    assert (bare.name, named.name) == (f"{__name__}.send", "send")
    assert (bare.__doc__, bare.__module__, repr(named)) == (send.__doc__, __name__, "<task send>")
    assert app.tasks == {bare.name: bare, "send": named}


def test_names_of_inner_functions_are_short(app: App) -> None:
    @app.task
    def inner() -> None: ...

    assert inner.name == f"{__name__}.test_names_of_inner_functions_are_short.inner"


def test_a_name_is_given_once(app: App) -> None:
    app.task(name="send")(send)
    with pytest.raises(Invalid, match="there are two tasks called send"):
        app.task(name="send")(send)


def test_run_does_as_a_worker_would(app: App) -> None:
    @app.task
    async def wait(ctx: Context, at: datetime, *, attempt: int = 0) -> list[Any]:
        ctx.progress(0.5)
        await asyncio.sleep(0)
        return [at, ctx.attempt, attempt]

    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert wait.run(moment) == [moment, 1, 0]
    context = LocalContext(attempt=3)
    assert wait.run(context, moment, attempt=7) == [moment, 3, 7]
    assert context.reports == [Progress(0.5)]
    with pytest.raises(Invalid, match="at: "):
        wait.run("yesterday")


def test_schedule_creates_a_job(app: App, api: Api) -> None:
    task = app.task(name="send", queue="mail", retry={"max_attempts": 2, "base": timedelta(minutes=1)}, concurrency=3)(
        send
    )
    own = {"queue": "mail", "timeout": "30s", "retry": {"max_attempts": 2, "base": "PT1M"}}
    monday = {"target": target("send", day="monday"), **own}
    job = task.schedule(cron="0 9 * * 1", timezone="Europe/Berlin", name="weekly", args={"day": "monday"})
    assert job == {"id": "id_1"}
    task.schedule("every weekday at 9:00", args={"day": "monday"}, jitter="30s", priority=9, queue="slow")
    task.schedule(every=timedelta(minutes=15), args={"day": "monday"})
    task.schedule(at=datetime(2026, 12, 24, 18, tzinfo=timezone(timedelta(hours=1))), args={"day": "monday"})
    task.schedule(args={"day": "monday"})
    assert {path for path, _ in api.asked} == {"/v1/jobs"}
    assert [body for _, body in api.asked] == [
        {**monday, "name": "weekly", "schedule": {"cron": "0 9 * * 1", "timezone": "Europe/Berlin"}},
        {**monday, "schedule": {"text": "every weekday at 9:00", "jitter": "30s"}, "priority": 9, "queue": "slow"},
        {**monday, "schedule": {"every": "PT15M"}},
        {**monday, "schedule": {"at": "2026-12-24T17:00:00.000Z"}},
        monday,
    ]


def test_enqueue_asks_for_a_run(app: App, api: Api, server: SmallServer) -> None:
    task = app.task(name="send", timeout="5m")(send)
    own = {"queue": "default", "timeout": "5m"}
    assert task.enqueue("monday", count=2) == "id_1"
    assert task.enqueue_many([{"day": "a"}, {"day": "b", "count": 3}]) == ["run_0", "run_1"]
    assert task.enqueue_many([]) == []
    task.at("2026-12-24T18:00:00Z").using(priority=9, tags=["mail"], timeout=timedelta(seconds=7)).enqueue("monday")
    runs = [{**own, "target": target("send", day="a")}, {**own, "target": target("send", day="b", count=3)}]
    later = {"due_at": "2026-12-24T18:00:00Z", "priority": 9, "tags": ["mail"], "timeout": "PT7S"}
    assert api.asked == [
        ("/v1/runs", {**own, "target": target("send", day="monday", count=2)}),
        ("/v1/runs/bulk", {"runs": runs, "atomic": True}),
        ("/v1/runs", {**own, **later, "target": target("send", day="monday")}),
    ]
    assert {asked.key for asked in server.asked} == {"Bearer key"}
    assert server.connections_total == 1, "the connection is kept"


def test_a_dedupe_key_goes_along(app: App, api: Api) -> None:
    dedupe = {"dedupe_key": "k", "dedupe_states": ["ready"], "on_conflict": "ignore"}
    app.task(name="send")(send).using(**dedupe, dedupe_window=timedelta(hours=1)).enqueue("monday")
    assert {**dedupe, "dedupe_window": "PT1H"}.items() <= api.asked[-1][1].items()


def test_a_delay_counts_from_each_asking(app: App, api: Api) -> None:
    order = app.task(name="send")(send).later("10m").using(queue="slow")
    for _ in range(2):
        before_ms = SystemClock().wall_ms()
        order.enqueue("monday")
        due_ms = parse_instant(api.asked[-1][1]["due_at"], field="")
        assert before_ms <= due_ms - 600_000 <= SystemClock().wall_ms()
    assert api.asked[0][1]["queue"] == "slow"


def test_wrong_arguments_are_not_sent(app: App, api: Api) -> None:
    task = app.task(name="send")(send)
    wrong: list[Callable[[], object]] = [
        lambda: task.enqueue(),
        lambda: task.enqueue(5),
        lambda: task.enqueue("a", 1, 2),
        lambda: task.enqueue("a", day="b"),
        lambda: task.enqueue("a", cuont=2),
        lambda: task.enqueue("a", count=object()),
        lambda: task.enqueue_many([{"day": "a"}, {}]),
        lambda: task.schedule("daily", args={}),
        lambda: task.later("soon"),
        lambda: task.later(timedelta(seconds=-1)),
        lambda: task.at(datetime(2026, 1, 1)),
    ]
    for ask in wrong:
        with pytest.raises(Invalid):
            ask()
    assert api.asked == []


def test_the_server_may_refuse(app: App, api: Api) -> None:
    api.status = 422
    with pytest.raises(Refused):
        app.task(send).enqueue("monday")


def test_a_connection_is_kept_for_the_next_order(app: App, server: SmallServer) -> None:
    task = app.task(send)
    for day in ("monday", "tuesday", "wednesday"):
        task.enqueue(day)
    assert server.connections_total == 1
    app.close()
    task.enqueue("thursday")
    assert server.connections_total == 2


def test_the_server_is_the_one_of_the_settings(server: SmallServer, monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()
    monkeypatch.setenv("DUELINE_URL", server.url)
    monkeypatch.setenv("DUELINE_API_KEY", "from-environment")
    assert app.task(send).enqueue("monday") == "id_1"
    assert [asked.key for asked in server.asked] == ["Bearer from-environment"]
    app.close()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 300}, "name"),
        ({"queue": "a b"}, "queue"),
        ({"timeout": "soon"}, "timeout"),
        ({"timeout": "0s"}, "timeout"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts"),
        ({"retry": {"attempts": 3}}, "attempts"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
def test_wrong_options_are_refused_at_decoration(app: App, options: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as raised:
        app.task(**options)(send)
    assert field in [problem for problem, _ in raised.value.problems]
