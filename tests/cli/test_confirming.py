"""What destroys something says what, and asks; where nobody can be asked nothing is done."""

from typing import Any

import pytest

from tests.api.serving import TARGET, ServedApi
from tests.api.working import a_dead_letter
from tests.cli.conftest import Command
from tests.support.stores import register


def made(api: ServedApi, noun: str) -> tuple[list[str], str, str]:
    """Something, the arguments that name it, what a question must say of it, and where it is found."""
    if noun == "job":
        job: dict[str, Any] = api.create(name="confirmed", schedule="0 9 * * *")
        return (
            [job["id"]],
            f"confirmed ({job['id']}, cron 0 9 * * * UTC, POST {TARGET['url']})",
            f"/v1/jobs/{job['id']}",
        )
    if noun == "calendar":
        api.call("PUT", "/v1/calendars/confirmed", {"dates": ["12-24", "12-31"], "weekdays": ["SUN"]})
        return ["confirmed"], "confirmed, with 2 dates and 1 weekdays", "/v1/calendars/confirmed"
    if noun == "limit":
        api.call("PUT", "/v1/limits/queue/confirmed", {"concurrency": 7, "rate": {"limit": 3, "per": "1m"}})
        return ["queue", "confirmed"], "7 be under way at once, and 3 in PT1M start", "/v1/limits/queue/confirmed"
    if noun == "deadletter":
        run_id = a_dead_letter(api, reason="poison")
        return [run_id], f"{run_id} aside, which failed with", f"/v1/dead-letters/{run_id}"
    if noun == "node":
        api.on_store(lambda store: register(store, "w9", slots=4, lease_s=3_600.0))
        return ["w9"], "w9 (worker on here, pid 1, which is alive with 0 runs under way)", "/v1/workers/w9"
    if noun == "key":
        key = api.call("POST", "/v1/keys", {"role": "reader", "name": "reports"}).json
        return [key["id"]], f"reports ({key['id']}), of the role reader and the tenant default", f"/v1/keys/{key['id']}"
    run = api.call("POST", "/v1/runs", {"target": TARGET, "due_at": "2099-01-01T00:00:00Z"}).json
    return [run["id"]], f"{run['id']} without a job, which is scheduled and was due at 2099", f"/v1/runs/{run['id']}"


def is_there(api: ServedApi, path: str) -> bool:
    found = api.call("GET", path)
    left = found.json.get("state") in ("cancelled", "draining") or found.json.get("revoked_at")
    return found.status == 200 and not left


@pytest.mark.parametrize(
    ("noun", "verb"),
    [
        ("job", "delete"),
        ("calendar", "delete"),
        ("limit", "delete"),
        ("deadletter", "purge"),
        ("run", "cancel"),
        ("node", "drain"),
        ("key", "revoke"),
    ],
)
def test_what_destroys_asks_and_says_what(process: Command, api: ServedApi, noun: str, verb: str) -> None:
    named, said, path = made(api, noun)
    server = {"DUELINE_URL": api.url}
    nobody = process(noun, verb, *named, **server)
    assert (nobody.code, nobody.out, is_there(api, path)) == (2, "", True)
    assert said in nobody.err
    assert "say --yes" in nobody.err
    piped = process(noun, verb, *named, stdin="y\n", **server)
    assert (piped.code, is_there(api, path)) == (2, True), "a pipe is no terminal"
    for answer in ("n\n", "\n", "\x04"):
        said_no = process(noun, verb, *named, typed=answer, **server)
        assert (said_no.code, said_no.out, is_there(api, path)) == (1, "", True)
        assert "Nothing was done." in said_no.err
    said_yes = process(noun, verb, *named, typed="y\n", **server)
    assert (said_yes.code, is_there(api, path)) == (0, False)


def test_many_dead_letters_are_named_by_what_they_have_in_common(process: Command, api: ServedApi) -> None:
    a_dead_letter(api, queue="common")
    nobody = process("deadletter", "purge", "--queue", "common", DUELINE_URL=api.url)
    assert (nobody.code, "Put 1 dead letters aside of queue common?" in nobody.err) == (2, True)


def test_a_key_was_revoked_that_locked_everybody_out(process: Command, api: ServedApi) -> None:
    server = {"DUELINE_URL": api.url}
    own = process("key", "whoami", "-o", "json", **server).json["key_id"]
    nobody = process("key", "revoke", own, **server)
    assert nobody.code == 2
    assert "Warning: this command uses the key itself" in nobody.err
    assert "Warning: this is the last admin key of the tenant default" in nobody.err
    api.call("POST", "/v1/keys", {"role": "admin", "name": "ended", "expires_at": "2099-01-01T00:00:00Z"})
    another = process("key", "revoke", own, **server)
    assert (another.code, "last admin key" in another.err) == (2, False)
