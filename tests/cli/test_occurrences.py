"""`dueline job occurrences`, `skip`, `move`, `restore` and `backfill`."""

from tests.api.serving import ServedApi
from tests.cli.conftest import Command

DAYS = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-04T00:00:00Z"]


def test_occurrences_are_listed_and_changed(cli: Command, api: ServedApi) -> None:
    job = api.create(schedule="0 9 * * *")
    page = cli("job", "occurrences", job["id"], "--limit", "3", "-o", "json").json
    first, second, third = (one["scheduled_at"] for one in page["items"])
    assert cli("job", "skip", job["id"], "--at", first, "-o", "json").json["next_due_at"] == second
    to = second.replace("T09", "T10")
    assert cli("job", "move", job["id"], "--at", second, "--to", to, "-o", "json").json["next_due_at"] == to
    table = cli("job", "occurrences", job["id"], "--limit", "4")
    header, *rows = [line.split() for line in table.out.splitlines()]
    assert header == ["SCHEDULED", "VERDICT", "REASON", "STARTED", "STATE", "RUN", "VERSION"]
    assert [row[:3] for row in rows] == [
        [first, "skipped", "requested"],
        [second, "skipped", "moved"],
        [to, "expected", "-"],
        [third, "expected", "-"],
    ]
    cursor = table.err.split("--cursor ")[1].strip()
    later = cli("job", "occurrences", job["id"], "--limit", "1", "--cursor", cursor, "-o", "json").json["items"]
    assert later[0]["scheduled_at"] > third
    assert cli("job", "restore", job["id"], "--at", first, "-o", "json").json["next_due_at"] == first
    past = cli("job", "skip", job["id"], "--at", "2020-01-01T09:00:00Z")
    assert (past.code, past.out) == (2, "")
    assert "past" in past.err


def test_a_backfill_is_shown_before_it_is_done(process: Command, api: ServedApi) -> None:
    job = api.create(schedule="0 */6 * * *")
    command = ["job", "backfill", job["id"], *DAYS]
    for answer in ("n\n", "\x04"):
        said_no = process(*command, typed=answer, DUELINE_URL=api.url)
        assert (said_no.code, said_no.out) == (1, "")
        assert "Run 12 occurrences?" in said_no.err
        assert "2026-01-01T00:00:00.000Z" in said_no.err
        assert "and 2 more" in said_no.err
    assert api.call("GET", f"/v1/runs?job_id={job['id']}").json["items"] == []
    said_yes = process(*command, "-o", "json", typed="y\n", DUELINE_URL=api.url)
    assert (said_yes.code, said_yes.json["new"]) == (0, 12)
    assert len(api.call("GET", f"/v1/runs?job_id={job['id']}").json["items"]) == 12


def test_a_backfill_without_a_question(cli: Command, api: ServedApi) -> None:
    job = api.create(schedule="0 */6 * * *")
    dry = cli("job", "backfill", job["id"], *DAYS, "--dry-run")
    assert (dry.code, len(dry.out.splitlines())) == (0, 13)
    assert "12 occurrences would run." in dry.err
    more = ["--rate", "5", "--overlap", "allow", "--cap", "12", "--yes", "-o", "json"]
    assert cli("job", "backfill", job["id"], *DAYS, *more).json["new"] == 12
    assert "0 of them new" in cli("job", "backfill", job["id"], *DAYS, "--yes").err
    capped = cli("job", "backfill", job["id"], *DAYS, "--cap", "11", "--yes")
    assert (capped.code, capped.out) == (2, "")
    none = cli("job", "backfill", job["id"], "--from", "2026-01-01T01:00:00Z", "--to", "2026-01-01T02:00:00Z")
    assert (none.code, none.out) == (0, "")
    assert "no occurrences" in none.err
