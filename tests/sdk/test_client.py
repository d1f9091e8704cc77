"""The client against a real server, and against things that are none."""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from dueline.sdk import errors
from dueline.sdk.client import Client
from dueline.store.fleet import JobType
from tests.api.conftest import own_api as own_api
from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter
from tests.support.stores import register


@pytest.fixture
def client(own_api: ServedApi) -> Iterator[Client]:
    with Client(own_api.url) as client:
        yield client


def test_the_life_of_a_job(client: Client) -> None:
    job = client.create_job({"target": TARGET, "schedule": {"every": "1h"}, "name": "a"})
    assert client.job(job["id"]) == job
    assert client.edit_job(job["id"], {"priority": 9}, if_version=1)["version"] == 2
    assert client.replace_job(job["id"], {"target": TARGET}, if_version=2)["version"] == 3
    assert client.pause_job(job["id"], note="why")["pause_note"] == "why"
    assert client.resume_job(job["id"])["state"] == "active"
    run = client.run_job(job["id"], force=True)
    assert client.run(run["id"])["job_id"] == job["id"]
    assert [found["id"] for found in client.runs(job_id=job["id"])["items"]] == [run["id"]]
    client.delete_job(job["id"], if_version=3)
    assert client.jobs()["items"] == []


def test_many_in_one_call(client: Client) -> None:
    made = client.create_jobs([{"target": TARGET, "name": "a"}, {"target": TARGET, "name": "a"}])
    assert [item["status"] for item in made["items"]] == [201, 409]
    with pytest.raises(errors.Conflict) as raised:
        client.create_jobs([{"target": TARGET, "name": "a"}], atomic=True)
    assert [problem.field for problem in raised.value.errors] == ["jobs[0].name"]
    assert (client.create_runs([{"target": TARGET}, {}])["created"], len(client.runs()["items"])) == (1, 1)
    with pytest.raises(errors.Refused):
        client.create_runs([{"target": TARGET}, {}], atomic=True)


def test_the_quotas_of_a_tenant(client: Client) -> None:
    put = client.put_tenant("default", {"weight": 2, "quotas": {"jobs": 1, "running": 5}})
    assert client.tenant("default") == put
    assert client.tenants()["items"] == [put] == list(client.all_tenants(limit=1))
    client.create_job({"target": TARGET})
    with pytest.raises(errors.OverQuota) as caught:
        client.create_job({"target": TARGET})
    assert (caught.value.problem.quota, caught.value.problem.limit, caught.value.problem.used) == ("jobs", 1, 1)
    assert client.edit_tenant("default", {"quotas": {"jobs": None}})["quotas"]["running"] == 5
    client.create_job({"target": TARGET})


def test_a_run_is_cancelled(client: Client) -> None:
    run = client.create_run({"target": TARGET})
    assert client.cancel_run(run["id"])["state"] == "cancelled"
    with pytest.raises(errors.Conflict):
        client.cancel_run(run["id"])


def test_a_dedupe_key_is_answered_by_the_run_that_has_it(client: Client) -> None:
    job = client.create_job({"target": TARGET})
    first = client.create_run({"target": TARGET, "dedupe_key": "k"})
    assert client.run_job(job["id"], dedupe_key="k", on_conflict="ignore")["id"] == first["id"]
    with pytest.raises(errors.Conflict, match=first["id"]):
        client.run_job(job["id"], dedupe_key="k")
    ignoring = {"target": TARGET, "dedupe_key": "k", "on_conflict": "ignore"}
    assert client.create_runs([ignoring, {"target": TARGET}])["items"][0] == {"status": 200, "run": {"id": first["id"]}}


def test_dead_letters(client: Client, own_api: ServedApi) -> None:
    first, second, third = (a_dead_letter(own_api) for _ in range(3))
    assert [letter["id"] for letter in client.dead_letters(limit=1)["items"]] == [third]
    assert [letter["id"] for letter in client.all_dead_letters(limit=1)] == [third, second, first]
    assert client.dead_letter(first)["executed"]["target"]["url"] == TARGET["url"]
    assert client.redrive_dead_letter(first)["parent_run_id"] == first
    assert client.redrive_dead_letter(first, {"key": "once"})["parent_run_id"] == first
    assert client.redrive_dead_letters({"dry_run": True})["matched"] == 2
    client.purge_dead_letter(second)
    assert client.purge_dead_letters({"queue": "failing"}) == 1


def test_job_types(client: Client, own_api: ServedApi) -> None:
    known = JobType(name="a/b", queue="q", parameters='{"type": "object"}')
    own_api.on_store(lambda store: store.publish_job_types([known], keep_ms=60_000))
    assert client.job_types() == [client.job_type("a/b")]
    assert client.job_type("a/b")["parameters"] == {"type": "object"}
    with pytest.raises(errors.NotFound):
        client.job_type("c")


def test_queues(client: Client) -> None:
    client.create_run({"target": TARGET, "queue": "q"})
    assert client.pause_queue("q", note="why")["note"] == "why"
    assert [(queue["name"], queue["paused"], queue["ready"]) for queue in client.queues()] == [("q", True, 1)]
    assert (client.queue("q")["ready"], client.queue("r")["ready"]) == (1, 0)
    assert client.resume_queue("q")["paused"] is False


def test_limits(client: Client) -> None:
    queue = client.put_limit("queue", "mail", {"rate": {"limit": 5, "burst": 1}})
    host = client.put_limit("host", "[::1]:8443", {"concurrency": 2})
    assert (client.limit("queue", "mail"), client.limit("host", "[::1]:8443")) == (queue, host)
    assert (client.limits(limit=1)["items"], list(client.all_limits(limit=1))) == ([host], [host, queue])
    client.delete_limit("host", "[::1]:8443")
    with pytest.raises(errors.NotFound):
        client.limit("host", "[::1]:8443")


def test_workers(client: Client, own_api: ServedApi) -> None:
    own_api.on_store(lambda store: register(store, "w9"))
    assert [worker["id"] for worker in client.workers()] == ["w9"]
    assert client.worker("w9")["state"] == "alive"
    assert client.drain_worker("w9")["id"] == "w9"


def test_the_signing_secret(client: Client) -> None:
    assert client.signing_secret() == {"set": False, "rotated_at": None}
    made = client.rotate_signing_secret()
    assert made["secret"].startswith("whsec_")
    assert client.signing_secret() == {"set": True, "rotated_at": made["rotated_at"]}


def test_the_occurrences_of_a_job(client: Client) -> None:
    job = client.create_job({"target": TARGET, "schedule": "0 9 * * *"})
    first, second = (one["scheduled_at"] for one in client.occurrences(job["id"], limit=2)["items"])
    assert client.skip_occurrence(job["id"], first)["next_due_at"] == second
    to = second.replace("T09", "T10")
    assert client.move_occurrence(job["id"], second, to)["next_due_at"] == to
    assert client.restore_occurrence(job["id"], first)["next_due_at"] == first
    period = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"}
    assert client.backfill_job(job["id"], {**period, "dry_run": True})["count"] == 2
    assert client.backfill_job(job["id"], period)["new"] == 2
    preview = client.preview_schedule({"schedule": "0 9 * * *", "job_id": job["id"], "count": 2})
    assert preview["changes"]["added"] == [second]


def test_calendars(client: Client) -> None:
    made = client.put_calendar("days", {"dates": ["12-25"]})
    assert client.calendar("days") == made
    assert client.calendars()["items"] == list(client.all_calendars(limit=1)) == [made]
    client.delete_calendar("days")
    with pytest.raises(errors.NotFound):
        client.calendar("days")


def test_the_whole(client: Client) -> None:
    job = client.create_job({"target": TARGET, "schedule": "0 * * * *"})
    assert [account["job_id"] for account in client.audit(job_id=job["id"])["items"]] == [job["id"]]
    assert [account["job_id"] for account in client.all_audits(limit=1)] == [job["id"]]
    assert client.recovery(policy="skip", rate=0.5)["rate"] == 0.5
    assert client.recover()["applied"] is True
    assert client.recover(policy="fire_all", rate=20)["rate"] == 20
    assert len(client.forecast(hours=2)["minutes"]) == 120
    assert client.forecast()["jobs"] == 1


def test_all_pages_are_read(client: Client) -> None:
    ids = [item["run"]["id"] for item in client.create_runs([{"target": TARGET}] * 7)["items"]]
    assert sorted(run["id"] for run in client.all_runs(limit=2)) == sorted(ids)
    jobs = [client.create_job({"target": TARGET, "queue": "é".encode().hex()})["id"] for _ in range(3)]
    assert sorted(job["id"] for job in client.all_jobs(limit=1, queue="c3a9")) == sorted(jobs)


def test_a_refusal_names_its_fields(client: Client) -> None:
    with pytest.raises(errors.Refused) as raised:
        client.create_job({"target": {"url": "ftp://x"}, "queue": "a b"})
    assert {problem.field for problem in raised.value.errors} == {"target.url", "queue"}


def test_what_is_not_there_and_what_is_taken(client: Client) -> None:
    with pytest.raises(errors.NotFound):
        client.job("../../livez?x")
    job = client.create_job({"target": TARGET, "name": "taken"})
    with pytest.raises(errors.Conflict):
        client.create_job({"target": TARGET, "name": "taken"})
    with pytest.raises(errors.Conflict):
        client.delete_job(job["id"], if_version=2)


def test_a_server_that_restarted_is_connected_to_again(own_api: ServedApi) -> None:
    with Client(own_api.url) as client:
        client.jobs()
        kept = client._connection._connection.sock
        assert kept is not None
        kept.shutdown(socket.SHUT_RDWR)
        assert client.create_job({"target": TARGET})["version"] == 1


def test_nobody_there_is_unreachable() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        with Client(f"http://127.0.0.1:{closed.getsockname()[1]}") as client, pytest.raises(errors.Unreachable):
            client.jobs()


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", errors.Unreachable),
        (b"nonsense\r\n\r\n", errors.Unreachable),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\n<b>x", errors.Broken),
        (b"HTTP/1.1 503 Gone\r\nContent-Length: 0\r\n\r\n", errors.Unavailable),
        (b"HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n", errors.Broken),
    ],
)
def test_an_answer_that_is_none_of_ours(answer: bytes, error: type[Exception]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with Client(f"http://127.0.0.1:{listener.getsockname()[1]}", timeout_s=5) as client, pytest.raises(error):
            client.jobs()
        thread.join()


def test_a_key_is_sent_as_a_bearer() -> None:
    assert Client(api_key="k")._headers["authorization"] == "Bearer k"


def test_importing_it_brings_no_server_and_no_driver() -> None:
    probe = "import sys, dueline.sdk.client; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", probe], check=True, capture_output=True, text=True).stdout.split()
    assert {"asyncpg", "apsw", "starlette", "uvicorn", "pycurl", "typer", "rich", "asyncio"}.isdisjoint(modules)
