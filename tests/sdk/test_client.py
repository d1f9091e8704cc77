"""Every resource of the client against a real server on both stores."""

import base64
from datetime import UTC, datetime, timedelta

import pytest

from dueline import Client
from dueline.sdk import errors
from dueline.sdk.client import PlainClient
from dueline.sdk.models import HttpTargetForm, JobState, RunState, TaskTargetForm
from dueline.store.fleet import JobType
from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter
from tests.support.stores import register

URL = TARGET["url"]


def test_the_life_of_a_job(client: Client) -> None:
    job = client.jobs.create(
        url=URL, schedule=timedelta(hours=1), name="a", timeout=timedelta(seconds=5), body={"a": 1}
    )
    assert client.jobs.get(job.id) == job
    assert (job.timeout, job.schedule and job.schedule.every) == ("PT5S", "PT1H")
    assert isinstance(job.target, HttpTargetForm)
    assert (job.target.url, job.target.body) == (URL, {"a": 1})
    assert client.jobs.patch(job.id, priority=9, if_version=1).version == 2
    assert client.jobs.update(job.id, url=URL, if_version=2).priority == 5
    paused = client.jobs.pause(job.id, note="why")
    assert (paused.state, paused.pause_note) == (JobState.PAUSED, "why")
    assert client.jobs.why(job.id).waits_for == "resume"
    assert client.jobs.resume(job.id).state == "active"
    run = client.jobs.run(job.id, force=True)
    assert client.runs.get(run.id).job_id == job.id
    assert [found.id for found in client.runs.list(job_id=job.id)] == [run.id]
    assert [found.id for found in client.runs.list(q="none")] == []
    cancelled = client.jobs.cancel(job.id, note="over", cancel_running=True, if_version=3)
    assert (cancelled.state, cancelled.pause_note) == (JobState.CANCELLED, "over")
    client.jobs.delete(job.id, if_version=3)
    assert list(client.jobs.list()) == []


def test_what_is_read_of_a_job_can_be_written_again(client: Client) -> None:
    job = client.jobs.create(
        task="report",
        args={"day": 1},
        schedule="0 9 * * 1-5",
        timezone="Europe/Berlin",
        retry={"base": timedelta(minutes=1)},
    )
    assert isinstance(job.target, TaskTargetForm)
    assert job.schedule is not None
    assert (job.schedule.cron, job.schedule.timezone) == ("0 9 * * 1-5", "Europe/Berlin")
    again = client.jobs.update(
        job.id, name=job.name, target=job.target, schedule=job.schedule, retry=job.retry, misfire=job.misfire
    )
    assert (again.target, again.schedule, again.retry) == (job.target, job.schedule, job.retry)


def test_a_patch_of_a_schedule_replaces_it_where_it_is_a_text(client: Client) -> None:
    job = client.jobs.create(
        url=URL, schedule={"cron": "0 9 * * *", "timezone": "Asia/Tokyo", "jitter": timedelta(minutes=1)}
    )
    zoned = client.jobs.patch(job.id, timezone="Europe/Berlin").schedule
    assert zoned is not None
    assert (zoned.cron, zoned.timezone, zoned.jitter) == ("0 9 * * *", "Europe/Berlin", "PT1M")
    hourly = client.jobs.patch(job.id, schedule=timedelta(hours=1)).schedule
    assert hourly is not None
    assert (hourly.cron, hourly.every, hourly.jitter) == (None, "PT1H", None)
    daily = client.jobs.patch(job.id, schedule="every day at 9:00", timezone="Asia/Tokyo").schedule
    assert daily is not None
    assert (daily.every, daily.cron, daily.timezone) == (None, "0 9 * * *", "Asia/Tokyo")
    once = client.jobs.patch(job.id, schedule=datetime(2050, 1, 1, tzinfo=UTC)).schedule
    assert once is not None
    assert once.at == "2050-01-01T00:00:00.000Z"
    assert client.jobs.patch(job.id, schedule=None).schedule is None


def test_many_in_one_call(client: Client) -> None:
    made = client.jobs.create_many([{"url": URL, "name": "a"}, {"target": TARGET, "name": "a"}])
    assert [item.status for item in made.items] == [201, 409]
    with pytest.raises(errors.Conflict) as raised:
        client.jobs.create_many([{"url": URL, "name": "a"}], atomic=True)
    assert [problem.field for problem in raised.value.errors] == ["jobs[0].name"]
    assert client.runs.enqueue_at_once([{"url": URL}, {}]).created == 1
    with pytest.raises(errors.Invalid):
        client.runs.enqueue_at_once([{"url": URL}, {}], atomic=True)
    assert len(list(client.runs.list())) == 1


def test_any_number_of_runs_in_their_order(client: Client) -> None:
    asked = ({"url": URL, "tags": [str(number)], **({"priority": 99} if number == 3 else {})} for number in range(7))
    items = client.runs.enqueue_many(asked, chunk=2)
    assert [item.status for item in items] == [201, 201, 201, 422, 201, 201, 201]
    tags = [client.runs.get(item.run.id).tags for item in items if item.run is not None]
    assert tags == [("0",), ("1",), ("2",), ("4",), ("5",), ("6",)]
    assert client.runs.enqueue_many([]) == []
    with pytest.raises(errors.Invalid, match="chunk: must be between 1 and 10000"):
        client.runs.enqueue_many([{}], chunk=0)


def test_what_has_the_same_key_is_done_once(client: Client) -> None:
    first = client.runs.enqueue(url=URL, idempotency_key="order 17")
    assert client.runs.enqueue(url=URL, idempotency_key="order 17") == first
    with pytest.raises(errors.Invalid, match="Idempotency-Key: was sent with another request"):
        client.runs.enqueue(url=URL, priority=9, idempotency_key="order 17")
    asked = [{"url": URL, "tags": [str(number)]} for number in range(3)]
    many = client.runs.enqueue_many(asked, chunk=2, idempotency_key="all")
    assert client.runs.enqueue_many(asked, chunk=2, idempotency_key="all") == many
    assert len(list(client.runs.list())) == 4
    assert client.runs.enqueue(url=URL) != client.runs.enqueue(url=URL)


def test_an_error_says_which_request_it_was(client: Client) -> None:
    with pytest.raises(errors.NotFound) as raised:
        client.jobs.get("job_x")
    assert raised.value.request_id


def test_a_run_may_be_due_later_and_have_bytes(client: Client) -> None:
    due = datetime.now(UTC) + timedelta(hours=1)
    run = client.runs.enqueue(url=URL, body=b"\x00\xff", due_at=due, expires_after=timedelta(minutes=1))
    assert (run.state, datetime.fromisoformat(run.due_at)) == (
        "scheduled",
        due.replace(microsecond=due.microsecond // 1000 * 1000),
    )
    job = client.jobs.create(url=URL, body=b"\x00\xff")
    assert isinstance(job.target, HttpTargetForm)
    assert base64.b64decode(job.target.body_base64 or "") == b"\x00\xff"


def test_the_quotas_of_a_tenant(client: Client) -> None:
    put = client.tenants.put("default", weight=2, quotas={"jobs": 1, "running": 5})
    assert client.tenants.get("default") == put
    assert list(client.tenants.list(page_size=1)) == [put]
    client.jobs.create(url=URL)
    with pytest.raises(errors.OverQuota) as caught:
        client.jobs.create(url=URL)
    assert (caught.value.problem.quota, caught.value.problem.limit, caught.value.problem.used) == ("jobs", 1, 1)
    assert (caught.value.status, caught.value.type) == (429, "urn:dueline:problem:over-quota")
    assert client.tenants.patch("default", quotas={"jobs": None}).quotas.running == 5
    client.jobs.create(url=URL)


def test_a_run_is_cancelled_and_says_why_it_waited(client: Client) -> None:
    run = client.runs.enqueue(url=URL)
    assert client.runs.why(run.id).run_id == run.id
    assert client.runs.cancel(run.id).state == "cancelled"
    with pytest.raises(errors.Conflict):
        client.runs.cancel(run.id)
    assert client.runs.wait(run.id).state is RunState.CANCELLED


def test_a_dedupe_key_is_answered_by_the_run_that_has_it(client: Client) -> None:
    job = client.jobs.create(url=URL)
    first = client.runs.enqueue(url=URL, dedupe_key="k", dedupe_window=timedelta(hours=1))
    assert client.jobs.run(job.id, dedupe_key="k", on_conflict="ignore").id == first.id
    with pytest.raises(errors.Conflict, match=first.id):
        client.jobs.run(job.id, dedupe_key="k")
    (item,) = client.runs.enqueue_many([{"url": URL, "dedupe_key": "k", "on_conflict": "ignore"}])
    assert (item.status, item.run and item.run.id) == (200, first.id)


def test_dead_letters(client: Client, own_api: ServedApi) -> None:
    first, second, third = (a_dead_letter(own_api) for _ in range(3))
    assert [letter.id for letter in client.dead_letters.list(page_size=1).page().items] == [third]
    assert [letter.id for letter in client.dead_letters.list(page_size=1)] == [third, second, first]
    past = datetime(2020, 1, 1, tzinfo=UTC)
    assert list(client.dead_letters.list(queue="failing", to=past)) == []
    executed = client.dead_letters.get(first).executed
    assert executed
    assert isinstance(executed.target, HttpTargetForm)
    assert executed.target.url == URL
    again = client.dead_letters.redrive(first, target=executed.target)
    assert again.parent_run_id == first
    assert client.dead_letters.redrive(first, key="once") == again
    assert client.dead_letters.redrive_many(dry_run=True).matched == 2
    assert client.runs.retry(second).parent_run_id == second
    with pytest.raises(errors.Invalid, match="qeue: unknown field: did you mean queue"):
        client.dead_letters.purge(qeue="failing")  # type: ignore[call-arg]  # as whoever has no type checker writes it
    client.dead_letters.delete(third)
    assert client.dead_letters.purge(queue="failing", from_=past).purged == 0


def test_job_types(client: Client, own_api: ServedApi) -> None:
    known = JobType(name="a/b", queue="q", parameters='{"type": "object"}')
    own_api.on_store(lambda store: store.publish_job_types([known], keep_ms=60_000))
    assert list(client.job_types.list()) == [client.job_types.get("a/b")]
    assert client.job_types.get("a/b").parameters == {"type": "object"}
    with pytest.raises(errors.NotFound):
        client.job_types.get("c")


def test_queues(client: Client) -> None:
    client.runs.enqueue(url=URL, queue="q")
    assert client.queues.pause("q", note="why").note == "why"
    assert [(queue.name, queue.paused, queue.ready) for queue in client.queues.list()] == [("q", True, 1)]
    assert (client.queues.get("q").ready, client.queues.get("r").ready) == (1, 0)
    assert client.queues.resume("q").paused is False
    assert [share.tenant for share in client.queues.shares("q").items] == ["default"]


def test_limits(client: Client) -> None:
    queue = client.limits.put("queue", "mail", rate={"limit": 5, "burst": 1, "per": timedelta(minutes=1)})
    host = client.limits.put("host", "[::1]:8443", concurrency=2)
    assert (client.limits.get("queue", "mail"), client.limits.get("host", "[::1]:8443")) == (queue, host)
    assert list(client.limits.list(page_size=1)) == [host, queue]
    assert queue.rate is not None
    assert queue.rate.per == "PT1M"
    client.limits.delete("host", "[::1]:8443")
    with pytest.raises(errors.NotFound):
        client.limits.get("host", "[::1]:8443")


def test_workers(client: Client, own_api: ServedApi) -> None:
    own_api.on_store(lambda store: register(store, "w9"))
    assert [worker.id for worker in client.workers.list()] == ["w9"]
    assert client.workers.get("w9").state == "alive"
    assert client.workers.drain("w9").id == "w9"


def test_the_desk(client: Client) -> None:
    run = client.runs.enqueue(task="add", args={"a": 1}, queue="py")
    worker = client.desk.register(queues=["py"], tasks=[{"name": "add"}]).id
    assert client.desk.heartbeat(worker, busy=1, rates={"py": 1.0}).drain is False
    (leased,) = client.desk.lease(worker, limit=5, wait=timedelta(seconds=0), holding=[]).runs
    assert isinstance(leased.target, TaskTargetForm)
    assert (leased.id, leased.target.args) == (run.id, {"a": 1})
    held = {"id": leased.id, "token": leased.token}
    assert client.desk.progress(worker, [{**held, "progress": 0.5}]).accepted == [run.id]
    assert client.desk.release(worker, [{"id": leased.id, "token": leased.token + 1}]).refused == [run.id]
    assert client.desk.report(worker, [{**held, "outcome": "succeeded", "result": 2}]).accepted == [run.id]
    client.desk.leave(worker)
    ended = client.runs.wait(run.id)
    assert (ended.state, ended.result) == (RunState.SUCCEEDED, "2")


def test_the_signing_secret(client: Client) -> None:
    assert client.signing_secret.get().is_set is False
    made = client.signing_secret.rotate()
    assert made.secret.startswith("whsec_")
    assert client.signing_secret.get().rotated_at == made.rotated_at


def test_the_occurrences_of_a_job(client: Client) -> None:
    job = client.jobs.create(url=URL, schedule="0 9 * * *")
    first, second = client.jobs.upcoming(job.id, count=2)
    assert (first.job_id, job.next_due_at) == (job.id, first.scheduled_at)
    assert [one.scheduled_at for one in client.jobs.coming(job.id, page_size=1).page().items] == [first.scheduled_at]
    assert client.upcoming.list(to=second.scheduled_at, page_size=2).page().items == [first]
    assert client.jobs.occurrences(job.id, page_size=1).page().items[0].scheduled_at <= first.scheduled_at
    assert client.jobs.skip(job.id, first.scheduled_at).next_due_at == second.scheduled_at
    assert [one.scheduled_at for one in client.jobs.upcoming(job.id, count=1)] == [second.scheduled_at]
    at = datetime.fromisoformat(second.scheduled_at)
    moved = client.jobs.move(job.id, at, at + timedelta(hours=1)).next_due_at
    assert moved is not None
    assert datetime.fromisoformat(moved) == at + timedelta(hours=1)
    assert client.jobs.restore(job.id, first.scheduled_at).next_due_at == first.scheduled_at
    period = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 3, tzinfo=UTC)
    assert client.jobs.backfill(job.id, *period, dry_run=True).count == 2
    assert client.jobs.backfill(job.id, *period, rate=5, cap=2).new == 2
    preview = client.schedules.preview("0 9 * * *", job_id=job.id, count=2)
    assert preview.changes is not None
    assert preview.changes.added == [second.scheduled_at]


def test_what_comes_of_a_job_ends_where_its_schedule_does(client: Client) -> None:
    job = client.jobs.create(url=URL, schedule=datetime.now(UTC) + timedelta(days=1))
    assert len(client.jobs.upcoming(job.id, count=5)) == 1


def test_a_preview(client: Client) -> None:
    found = client.schedules.preview(
        "every weekday at 9:00", timezone="Europe/Berlin", from_=datetime(2026, 3, 27, tzinfo=UTC)
    )
    assert (found.canonical.cron, found.fires[0].utc) == ("0 9 * * 1-5", "2026-03-27T08:00:00.000Z")
    assert client.schedules.preview(timedelta(minutes=5)).canonical.every == "PT5M"


def test_calendars(client: Client) -> None:
    made = client.calendars.put("days", dates=["12-25"])
    assert client.calendars.get("days") == made
    assert client.calendars.list().page().items == list(client.calendars.list(page_size=1)) == [made]
    client.calendars.delete("days")
    with pytest.raises(errors.NotFound):
        client.calendars.get("days")


def test_the_whole(client: Client) -> None:
    job = client.jobs.create(url=URL, schedule="0 * * * *")
    assert [account.job_id for account in client.audits.list(job_id=job.id)] == [job.id]
    assert client.recovery.plan(policy="skip", rate=0.5).rate == 0.5
    assert client.recovery.apply().applied is True
    assert client.recovery.apply(policy="fire_all", rate=20).rate == 20
    assert len(client.forecasts.get(hours=2).minutes) == 120
    assert client.forecasts.get().jobs == 1


def test_health(client: Client, own_api: ServedApi) -> None:
    assert (client.health.live().status, client.health.ready().status) == ("live", "ready")
    assert "dueline_" in client.health.metrics()
    own_api.stopping = True
    with pytest.raises(errors.Unavailable):
        client.with_timeout(0.5).health.ready()


def test_what_has_no_method_can_be_asked_for(client: Client) -> None:
    job = client.request("POST", "/v1/jobs", {"target": TARGET})
    assert client.request("GET", "/v1/jobs", query={"limit": 1, "state": None})["items"] == [job]
    patched = client.request("PATCH", f"/v1/jobs/{job['id']}", {"priority": 9}, if_version=1)
    assert patched["priority"] == 9
    assert client.request("DELETE", f"/v1/jobs/{job['id']}") is None


def test_plain_answers_are_those_of_the_server(own_api: ServedApi) -> None:
    with PlainClient(own_api.url) as plain:
        job = plain.jobs.create({"target": TARGET, "schedule": "1h"}, priority=7)
        assert job == own_api.call("GET", f"/v1/jobs/{job['id']}").json
        assert plain.jobs.list().page() == {"items": [job], "next_cursor": None}
        assert list(plain.jobs.list()) == [job]
        (item,) = plain.runs.enqueue_many([{"url": URL}])
        assert item == {"status": 201, "run": {"id": item["run"]["id"]}}
        assert plain.jobs.delete(job["id"]) is None
        assert plain.health.metrics().startswith("#")


def test_all_pages_are_read(client: Client) -> None:
    ids = {item.run.id for item in client.runs.enqueue_many([{"url": URL}] * 7) if item.run is not None}
    assert {run.id for run in client.runs.list(page_size=2)} == ids
    page = client.runs.list(page_size=5).page()
    rest = client.runs.list(page_size=5).page(page.next_cursor)
    assert (len(page.items), len(rest.items), rest.next_cursor) == (5, 2, None)
    jobs = {client.jobs.create(url=URL, queue="c3a9").id for _ in range(3)}
    assert {job.id for job in client.jobs.list(page_size=1, queue="c3a9")} == jobs


def test_a_refusal_names_its_fields(client: Client) -> None:
    with pytest.raises(errors.Invalid) as raised:
        client.jobs.create(url="ftp://x", queue="a b")
    assert {problem.field for problem in raised.value.errors} == {"target.url", "queue"}
    assert "target.url: must begin with http" in str(raised.value)


def test_what_is_not_there_and_what_is_taken(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        client.jobs.get("../../livez?x")
    job = client.jobs.create(url=URL, name="taken")
    with pytest.raises(errors.Conflict):
        client.jobs.create(url=URL, name="taken")
    with pytest.raises(errors.VersionMismatch):
        client.jobs.delete(job.id, if_version=2)
    for write in (client.jobs.pause, client.jobs.resume, client.jobs.run):
        with pytest.raises(errors.VersionMismatch):
            write(job.id, if_version=2)
