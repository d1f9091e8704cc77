"""Jobs that are found by the task that they carry out."""

from tests.api.serving import TARGET, ServedApi


def names(api: ServedApi, query: str) -> list[str]:
    """All that a list has, page by page."""
    found, cursor = [], ""
    while True:
        page = api.call("GET", f"/v1/jobs?{query}{cursor}").json
        found += [job["name"] for job in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_jobs_are_found_by_their_job_type_and_no_other(own_api: ServedApi) -> None:
    for name, task in (("a", "report"), ("b", "report.daily"), ("c", "report"), ("d", "mail")):
        own_api.create(name=name, target={"type": "task", "task": task}, tags=[name])
    own_api.create(name="report", target={**TARGET, "url": "https://example.com/report"})
    assert names(own_api, "job_type=report") == ["c", "a"]
    assert names(own_api, "job_type=report&limit=1") == ["c", "a"]
    assert names(own_api, "job_type=report.daily&target_type=task") == ["b"]
    assert names(own_api, "job_type=report&tag=a") == ["a"]
    assert names(own_api, "job_type=report&name_prefix=c") == ["c"]
    assert names(own_api, "job_type=report&q=a") == ["a"]
    assert names(own_api, "job_type=none") == []


def test_a_job_type_of_calls_and_the_cursor_of_another_are_refused(own_api: ServedApi) -> None:
    for name in ("a", "b"):
        own_api.create(name=name, target={"type": "task", "task": "report"})
    refused = own_api.call("GET", "/v1/jobs?job_type=report&target_type=http")
    assert (refused.status, set(refused.reasons)) == (422, {"job_type"})
    cursor = own_api.call("GET", "/v1/jobs?job_type=report&limit=1").json["next_cursor"]
    assert own_api.call("GET", f"/v1/jobs?job_type=Report&limit=1&cursor={cursor}").status == 422
