"""What users get for their own tests: the fixture, time that moves when told to, and what happened meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dueline.domain.errors import Invalid
from dueline.testing import Answer, Call, VirtualDueline


def times(dueline: VirtualDueline) -> list[str]:
    return [call.at.strftime("%m-%d %H:%M:%S") for call in dueline.calls]


def test_time_stands_still_until_it_is_moved(dueline: VirtualDueline) -> None:
    dueline.create_job(schedule="every minute")
    assert dueline.now == datetime(2026, 1, 1, tzinfo=UTC)
    assert dueline.calls == []
    dueline.advance("59.999s")
    assert dueline.calls == []
    dueline.advance(timedelta(milliseconds=1))
    assert times(dueline) == ["01-01 00:01:00"]


@pytest.mark.dueline(start="2026-03-28T00:00:00Z")
def test_three_days_over_a_clock_change(dueline: VirtualDueline) -> None:
    dueline.create_job(schedule={"cron": "30 2 * * *", "timezone": "Europe/Berlin"})
    dueline.advance("3d")
    # 02:30 does not exist on the 29th: it comes when the clocks have jumped to 03:00.
    assert times(dueline) == ["03-28 01:30:00", "03-29 01:00:00", "03-30 00:30:00"]
    assert all(call.late_by == timedelta() for call in dueline.calls)


def test_a_moment_may_be_named_instead_of_a_span(dueline: VirtualDueline) -> None:
    dueline.create_job(schedule={"at": "2026-01-05T12:00:00Z"})
    dueline.advance(datetime(2026, 1, 5, 12, tzinfo=UTC))
    assert times(dueline) == ["01-05 12:00:00"]


def test_a_call_tells_what_was_sent(dueline: VirtualDueline) -> None:
    job = dueline.create_job(
        schedule="every hour",
        target={"type": "http", "method": "PUT", "url": "http://shop.test/stock", "body": {"full": True}},
    )
    dueline.advance("1h")
    (call,) = dueline.calls
    assert (call.method, call.url, call.json()) == ("PUT", "http://shop.test/stock", {"full": True})
    assert (call.job_id, call.attempt, call.headers["content-type"]) == (job["id"], 1, "application/json")
    assert call.run_id == dueline.runs(job["id"])[0]["id"]


def test_answers_decide_about_retries(dueline: VirtualDueline) -> None:
    dueline.respond(lambda call: 503 if call.attempt < 3 else None)
    job = dueline.create_job(schedule={"at": "2026-01-01T00:10:00Z"}, retry={"backoff": "fixed", "base": "PT1M"})
    dueline.advance("1h")
    assert times(dueline) == ["01-01 00:10:00", "01-01 00:11:00", "01-01 00:12:00"]
    (run,) = dueline.runs(job["id"])
    assert (run["state"], run["attempt"]) == ("succeeded", 3)


def test_a_fixed_delay_counts_from_the_end_of_the_run(dueline: VirtualDueline) -> None:
    dueline.respond(lambda _call: Answer(takes="90s"))
    dueline.create_job(schedule={"after": "PT10M"}, timeout="PT5M")
    dueline.advance("35m")
    assert times(dueline) == ["01-01 00:10:00", "01-01 00:21:30", "01-01 00:33:00"]


def test_a_call_that_takes_longer_than_its_timeout_times_out(dueline: VirtualDueline) -> None:
    dueline.respond(lambda _call: Answer(takes="1h"))
    job = dueline.create_job(schedule={"at": "2026-01-01T00:01:00Z"}, retry={"max_attempts": 1}, timeout="PT30S")
    dueline.advance("2m")
    (run,) = dueline.runs(job["id"])
    assert (run["state"], run["finished_at"]) == ("failed", "2026-01-01T00:01:30.000Z")


def test_an_outage_is_caught_up_by_the_policy(dueline: VirtualDueline) -> None:
    job = dueline.create_job(schedule="every 15 minutes", misfire={"policy": "fire_once"})
    dueline.advance("16m")
    dueline.outage("2h")
    dueline.advance("15m")
    told = dueline.occurrences(job["id"], since="2026-01-01T00:00:00Z", until="2026-01-01T02:30:00Z")
    assert [one["verdict"] for one in told] == [
        "fired",
        *["skipped"] * 4,
        *["coalesced"] * 3,
        "late",
        "fired",
    ]
    account = dueline.audit(job["id"])
    assert (account["expected"], account["missed"], account["doubled"]) == (10, 0, 0)


def test_a_run_under_way_in_an_outage_is_run_again(dueline: VirtualDueline) -> None:
    dueline.respond(lambda call: Answer(takes="10m") if call.attempt == 1 else None)
    dueline.create_job(schedule={"at": "2026-01-01T00:01:00Z"}, timeout="PT1H")
    dueline.advance("2m")
    dueline.outage("5m")
    dueline.advance("1m")
    assert [call.attempt for call in dueline.calls] == [1, 2]


def test_jobs_are_changed_as_over_the_api(dueline: VirtualDueline) -> None:
    job = dueline.create_job(name="report", schedule="every hour")
    assert dueline.edit_job(job["id"], schedule="every 30 minutes")["schedule"]["every"] == "PT30M"
    assert dueline.pause_job(job["id"], note="holiday")["state"] == "paused"
    dueline.advance("1h")
    assert dueline.calls == []
    assert dueline.resume_job(job["id"])["state"] == "active"
    dueline.run_job(job["id"], force=True)
    kinds = sorted(run["kind"] for run in dueline.runs(job["id"]))
    # The first half hour was missed, the second is due right now.
    assert kinds == ["manual", "scheduled", "scheduled"]
    dueline.delete_job(job["id"])
    dueline.advance("1d")
    assert len(dueline.calls) == 2, "one of the two was skipped: they must not overlap"


def test_calendars_keep_jobs_off_some_days(dueline: VirtualDueline) -> None:
    dueline.put_calendar("weekends", weekdays=["SAT", "SUN"])
    dueline.create_job(schedule={"cron": "0 9 * * *", "calendars": ["weekends"]})
    dueline.advance("7d")
    # The first of January 2026 is a Thursday.
    assert times(dueline) == ["01-01 09:00:00", "01-02 09:00:00", *[f"01-0{day} 09:00:00" for day in (5, 6, 7)]]


def test_bad_input_is_refused_as_over_the_api(dueline: VirtualDueline) -> None:
    with pytest.raises(Invalid, match=r"schedule\.cron"):
        dueline.create_job(schedule={"cron": "61 * * * *"})


def test_the_same_test_gives_the_same_ids() -> None:
    def ids() -> list[str]:
        with VirtualDueline() as dueline:
            job = dueline.create_job(schedule="every hour")
            dueline.run_job(job["id"])
            return [job["id"], *(call.run_id for call in dueline.calls)]

    assert ids() == ids()


async def test_an_async_test_may_use_it_too(dueline: VirtualDueline) -> None:
    seen: list[Call] = []
    dueline.respond(lambda call: seen.append(call))
    dueline.create_job(schedule="every minute")
    dueline.advance("3m")
    assert len(seen) == 3


def test_limits_hold_on_the_virtual_clock(dueline: VirtualDueline) -> None:
    job = dueline.create_job(rate={"limit": 1, "per": "PT10M"}, overlap="allow")
    for _ in range(3):
        dueline.run_job(job["id"])
    dueline.advance("1h")
    assert times(dueline) == ["01-01 00:00:00", "01-01 00:10:00", "01-01 00:20:00"]


def test_runs_go_one_after_the_other_on_the_virtual_clock(dueline: VirtualDueline) -> None:
    dueline.respond(lambda _call: Answer(takes="90s"))
    job = dueline.create_job(concurrency=1, timeout="PT2M", overlap="allow")
    for _ in range(3):
        dueline.run_job(job["id"])
    dueline.advance("1h")
    assert times(dueline) == ["01-01 00:00:00", "01-01 00:01:30", "01-01 00:03:00"]


def test_whoever_asked_is_told_of_an_end_at_once(dueline: VirtualDueline) -> None:
    dueline.respond(lambda call: 404 if call.url.endswith("/work") else None)
    dueline.create_job(
        schedule={"at": "2026-01-01T00:10:00Z"},
        target={"url": "http://shop.test/work"},
        notify={"url": "http://shop.test/ended"},
    )
    dueline.advance("1h")
    assert [call.url for call in dueline.calls] == ["http://shop.test/work", "http://shop.test/ended"]
    assert times(dueline) == ["01-01 00:10:00", "01-01 00:10:00"]
    told = dueline.calls[1].json()
    assert (told["type"], told["run"]["status"]) == ("run.failed", 404)
