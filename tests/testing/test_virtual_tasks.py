"""Tasks in a VirtualDueline: carried out for real, when they are due."""

from __future__ import annotations

import asyncio
import threading
from datetime import datetime
from itertools import pairwise

import pytest

from dueline import App, Context, Fail, Retry
from dueline.testing import VirtualDueline


class Shop:
    """An app whose tasks tell what they did."""

    def __init__(self) -> None:
        self.app = App("shop")
        self.done: list[str] = []
        app, done = self.app, self.done

        @app.task(name="report")
        def report(ctx: Context, to: list[str]) -> dict[str, int]:
            sent = ctx.checkpoint_data or 0
            for number, name in enumerate(to[sent:], start=sent + 1):
                done.append(f"{ctx.scheduled_at:%d %H:%M} {name}")
                ctx.checkpoint(number)
                ctx.progress(number / len(to))
                if ctx.attempt < number:
                    raise LookupError(name)
            return {"sent": len(to)}

        @app.task(name="pay")
        async def pay(ctx: Context, cents: int) -> str:
            await asyncio.sleep(0)
            if cents <= 0:
                raise Fail("nothing to pay")
            if ctx.attempt == 1:
                raise Retry("the bank is busy", after="10m")
            return f"{cents} paid"

        @app.task(name="nested")
        def nested() -> str:
            """A plain function may have a loop of its own."""
            asyncio.run(asyncio.sleep(0))
            return threading.current_thread().name

        @app.task(name="limited", concurrency=1)
        def limited() -> None:
            done.append("limited")


@pytest.fixture
def shop(dueline: VirtualDueline) -> Shop:
    shop = Shop()
    dueline.use(shop.app)
    return shop


def task(name: str, **args: object) -> dict[str, object]:
    return {"type": "task", "task": name, "args": args}


def test_a_task_is_carried_out_whenever_it_is_due(dueline: VirtualDueline, shop: Shop) -> None:
    job = dueline.create_job(
        schedule={"cron": "0 9 * * *", "timezone": "Europe/Berlin"}, target=task("report", to=["ada"])
    )
    assert shop.done == []
    dueline.advance("3d")
    assert shop.done == ["01 08:00 ada", "02 08:00 ada", "03 08:00 ada"]
    runs = dueline.runs(job["id"])
    assert [(run["state"], run["result"]) for run in runs] == [("succeeded", '{"sent":1}')] * 3
    assert all(run["started_at"] == run["scheduled_at"] == run["finished_at"] for run in runs)
    account = dueline.audit(job["id"])
    assert (account["expected"], account["missed"], account["doubled"]) == (3, 0, 0)
    assert dueline.calls == [], "nothing was called"


def test_a_failed_attempt_is_followed_by_another_that_goes_on_from_its_checkpoint(
    dueline: VirtualDueline, shop: Shop
) -> None:
    retry = {"backoff": "fixed", "base": "1m"}
    job = dueline.create_job(schedule="in 5 minutes", target=task("report", to=["a", "b", "c"]), retry=retry)
    dueline.advance("1h")
    (run,) = dueline.runs(job["id"])
    assert (run["state"], run["attempt"]) == ("succeeded", 3)
    assert [name.split()[-1] for name in shop.done] == ["a", "b", "c"]
    begun = [datetime.fromisoformat(attempt["started_at"]) for attempt in run["attempts"]]
    assert [(later - earlier).total_seconds() for earlier, later in pairwise(begun)] == [60, 60]


@pytest.mark.parametrize(
    ("cents", "after", "state", "attempt"),
    [(5, "9m58s", "retrying", 1), (5, "10m", "succeeded", 2), (0, "1h", "failed", 1)],
)
@pytest.mark.usefixtures("shop")
def test_coroutines_retry_and_fail_as_they_say(
    dueline: VirtualDueline, cents: int, after: str, state: str, attempt: int
) -> None:
    job = dueline.create_job(target=task("pay", cents=cents))
    dueline.run_job(job["id"])
    dueline.advance(after)
    (run,) = dueline.runs(job["id"])
    assert (run["state"], len(run["attempts"])) == (state, attempt)


@pytest.mark.usefixtures("shop")
def test_a_plain_function_runs_beside_the_loop(dueline: VirtualDueline) -> None:
    job = dueline.create_job(target=task("nested"))
    dueline.run_job(job["id"])
    (run,) = dueline.runs(job["id"])
    assert run["state"] == "succeeded"


def test_a_limited_task_waits_for_its_turn(dueline: VirtualDueline, shop: Shop) -> None:
    jobs = [dueline.create_job(schedule={"at": "2026-01-01T00:01:00Z"}, target=task("limited")) for _ in range(3)]
    dueline.advance("2m")
    assert shop.done == ["limited"] * 3
    assert [dueline.runs(job["id"])[0]["attempt"] for job in jobs] == [1, 1, 1]


@pytest.mark.usefixtures("shop")
def test_what_does_not_fit_is_told(dueline: VirtualDueline) -> None:
    wrong = dueline.create_job(target=task("pay", cents="five"))
    unknown = dueline.create_job(target=task("pya"))
    for job in (wrong, unknown):
        dueline.run_job(job["id"])
    assert dueline.runs(wrong["id"])[0]["error"] == "the arguments do not fit: cents: must be a whole number, not text"
    assert "a task pya (did you mean pay?)" in dueline.runs(unknown["id"])[0]["error"]


def test_without_an_app_a_task_says_what_is_missing(dueline: VirtualDueline) -> None:
    job = dueline.create_job(target=task("report"))
    dueline.run_job(job["id"])
    (run,) = dueline.runs(job["id"])
    assert (run["state"], run["error"]) == (
        "failed",
        "there is no task report here: name its app with dueline.use(app)",
    )


def test_an_outage_is_caught_up(dueline: VirtualDueline, shop: Shop) -> None:
    job = dueline.create_job(schedule="every hour", target=task("report", to=["ada"]), misfire={"policy": "fire_all"})
    dueline.advance("2h")
    dueline.outage("90m")
    dueline.advance("1h")
    assert {run["state"] for run in dueline.runs(job["id"])} == {"succeeded"}
    assert len(shop.done) == len(dueline.runs(job["id"])) == 4


def test_an_app_may_be_named_from_the_start() -> None:
    shop = Shop()
    with VirtualDueline(app=shop.app) as dueline:
        job = dueline.create_job(target=task("limited"))
        dueline.run_job(job["id"])
    assert shop.done == ["limited"]
