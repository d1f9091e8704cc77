"""Whatever is sent to whatever path, the answer is never that something broke."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dueline.api.app import ROUTES
from dueline.api.routes import ApiRoute
from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import TARGET, ServedApi

TEXTS = st.sampled_from(
    [
        *("", "x", "é", "\x00", "\ud800", "default", "skip", "fire_all", "allow", "http://127.0.0.1:9/", "UTC", "Europe/Berlin"),
        *("1970-01-01T00:00:00Z", "2026-03-29T01:30:00Z", "2099-01-01T00:00:00.001Z", "9999-12-31T23:59:59.999Z"),
        *("0 9 * * 1-5", "* * * * * *", "H H * * *", "0 0 29 2 *", "0 0 1 1 * 2199", "1s", "15m", "PT0.5S", "P3660D"),
        *("R/9999-12-01T00:00:00Z/P1D", "R3/1970-01-01T00:00:00Z/P1M", "R/2026-01-01T00:00:00Z/P100Y", "12-25", "SUN"),
        *("FREQ=SECONDLY", "FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=2", "DTSTART:99981231T000000Z\nRRULE:FREQ=DAILY"),
        *("every day at 9:00", "every 2 weeks on monday at 9:00", "in 9 years", "1 second after each run ends", "used"),
        *("2026-12-24/2027-01-01", "02-29", "BEGIN:VCALENDAR\nEND:VCALENDAR", "before", "mon", "job_" + "0" * 26),
    ]
)  # fmt: skip
NUMBERS = st.sampled_from([-1, 0, 1, 2, 10, 1000, 10**6, 10**12, 2**63, 10**30, 0.5, -0.0, 1e-9, 1e300])
DEPTH_MAX = 3
PLAIN = st.none() | st.booleans() | NUMBERS | TEXTS


INSTANTS = st.sampled_from(
    [
        *("1970-01-03T00:00:00Z", "2026-03-29T01:30:00Z", "2026-10-25T00:30:00Z", "2099-01-01T00:00:00.001Z"),
        *("9998-12-31T00:00:00Z", "9999-12-31T23:59:59.999Z"),
    ]
)
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "at": INSTANTS,
    "cron": st.sampled_from(
        ["0 9 * * 1-5", "*/7 * * * * *", "H H * * *", "30 2 29 2 *", "0 0 0 1 1 * 2199", "0 0 LW * *"]
    ),
    "calendar": st.fixed_dictionaries({"hour": st.integers(0, 23)}, optional={"days_of_week": st.just("MON-FRI")}),
    "every": st.sampled_from(["1s", "15m", "P3660D"]),
    "after": st.sampled_from(["1s", "15m", "P3660D"]),
    "repeat": st.builds(
        "R{}/{}/{}".format, st.sampled_from(["", 1, 9]), INSTANTS, st.sampled_from(["P1M", "PT1S", "P99Y3D"])
    ),
    "rrule": st.sampled_from(
        ["FREQ=SECONDLY", "FREQ=YEARLY;BYDAY=-1FR", "FREQ=MONTHLY;BYMONTHDAY=31", "FREQ=DAILY;COUNT=9"]
    ),
    "text": st.sampled_from(
        ["every day at 9:00", "every 2 weeks on monday at 9:00", "in 9 years", "1h after each run ends"]
    ),
}
SHAPES: dict[str, st.SearchStrategy[Any]] = {
    "allow_past": st.just(True),
    "timezone": st.sampled_from(["Europe/Berlin", "Pacific/Apia", "Australia/Lord_Howe"]),
    "start_at": INSTANTS,
    "end_at": INSTANTS,
    "max_runs": st.sampled_from([1, 2, 1_000_000_000]),
    "jitter": st.sampled_from(["0.5s", "P1D"]),
    "calendars": st.just(["used"]),
    "on_excluded": st.sampled_from(["skip", "before", "after"]),
    "changed": st.lists(st.fixed_dictionaries({"at": INSTANTS}, optional={"to": INSTANTS}), max_size=2),
    "dst_gap": st.sampled_from(["skip", "run_before"]),
}
LIKELY = st.sampled_from(sorted(KINDS)).flatmap(
    lambda kind: st.sets(st.sampled_from(sorted(SHAPES)), max_size=3).flatmap(
        lambda names: st.fixed_dictionaries({kind: KINDS[kind], **{name: SHAPES[name] for name in names}})
    )
)
"""Schedules of which many are right, and that reach as far as time does."""


def values(kind: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """JSON that has something of the shape of a request."""
    options = get_args(kind) or (kind,)
    structs = [option for option in options if isinstance(option, type) and issubclass(option, msgspec.Struct)]
    if not structs or depth > DEPTH_MAX:
        return PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(TEXTS, PLAIN, max_size=2)
    members = {info.encode_name: values(info.type, depth + 1) for info in msgspec.structs.fields(structs[0])}
    return st.fixed_dictionaries({}, optional=members) | PLAIN


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedApi]:
    folder: Path = tmp_path_factory.mktemp("store")
    with ServedApi(lambda: SqliteStore(folder / "dueline.db", SystemClock())) as api:
        assert api.call("PUT", "/v1/calendars/used", {"weekdays": ["SUN"], "dates": ["12-25"]}).status == 200
        yield api


def encoded(body: Any) -> bytes:
    return json.dumps(body).encode()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_request_breaks_the_server(served: ServedApi, route: ApiRoute, data: st.DataObject) -> None:
    path = route.path
    if "{id}" in path:
        schedule = data.draw(st.sampled_from([None, "0 9 * * *", "15m", {"after": "1h"}, "R/2026-01-01T00:00:00Z/P1M"]))
        job = served.create(schedule=schedule) if data.draw(st.booleans()) else {"id": data.draw(TEXTS)}
        path = path.replace("{id}", quote(job["id"].encode("utf-8", "replace"), safe=""))
    path = path.replace("{version}", data.draw(st.sampled_from(["1", "2", "0", "x", "999999999", "%00"])))
    path = path.replace("{name}", quote(data.draw(TEXTS).encode("utf-8", "replace"), safe=""))
    query = data.draw(st.dictionaries(st.sampled_from([*route.query, "x"]), TEXTS | NUMBERS.map(str), max_size=3))
    sent = {name: value.encode("utf-8", "replace") for name, value in query.items()}
    body = None
    if route.request is not None:
        body = encoded(data.draw(values(route.request)))
    # Of what goes on for ever somebody who takes JSON gets a page.
    headers = {"Accept": "application/json"}
    reply = served.call(route.method, f"{path}?{urlencode(sent)}" if sent else path, raw=body, headers=headers)
    assert reply.status < 500, (path, body, reply.body)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_schedule_breaks_the_server(served: ServedApi, data: st.DataObject) -> None:
    """A schedule that is taken can be looked at from every side."""
    route = next(route for route in ROUTES if route.path == "/v1/schedules/preview")
    schedule = data.draw(LIKELY | values(msgspec.structs.fields(route.request)[0].type) | TEXTS)
    asked = {"schedule": schedule, "from": data.draw(TEXTS), "count": 50}
    assert served.call("POST", route.path, raw=encoded(asked)).status < 500, asked
    made = served.call("POST", "/v1/jobs", raw=encoded({"target": TARGET, "schedule": schedule}))
    assert made.status in (201, 400, 422), (schedule, made.body)
    if made.status == 201:
        path = f"/v1/jobs/{made.json['id']}"
        for other in (f"{path}/occurrences?from=1970-01-01T00:00:00Z", f"{path}/occurrences", "/v1/forecast?hours=2"):
            reply = served.call("GET", other)
            assert reply.status == 200, (schedule, other, reply.body)
        assert served.call("GET", f"/v1/audit?job_id={made.json['id']}&from=1970-01-01T00:00:00Z").status == 200
        assert served.call("POST", f"{path}/pause").status in (200, 409)
        assert served.call("POST", f"{path}/resume").status in (200, 409)
        written = {"target": TARGET, "schedule": made.json["schedule"]}
        assert served.call("PUT", path, raw=encoded(written)).status == 200, schedule
        assert served.call("DELETE", path).status == 204
