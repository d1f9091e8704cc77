"""How long the finished runs of a job are kept, as people say it."""

import pytest

from tests.api.serving import TARGET, ServedApi


def test_a_retention_is_said_changed_and_taken_back_and_versions_tell_of_it(api: ServedApi) -> None:
    job = api.create(retention="7d")
    assert job["retention"] == "P7D"
    path = f"/v1/jobs/{job['id']}"
    assert api.call("PATCH", path, {"retention": "PT1H"}).json["retention"] == "PT1H"
    assert api.call("PATCH", path, {"tags": ["a"]}).json["retention"] == "PT1H"
    assert api.call("PATCH", path, {"retention": None}).json["retention"] is None
    changes = api.call("GET", f"{path}/versions/2/diff").json["changes"]
    assert changes == [{"path": "retention", "before": "P7D", "after": "PT1H"}]


@pytest.mark.parametrize("text", ["59m", "P3661D", "a week", "P1M"])
def test_a_retention_that_cannot_be_is_refused(api: ServedApi, text: str) -> None:
    refused = api.call("POST", "/v1/jobs", {"target": TARGET, "retention": text})
    assert refused.status == 422
    assert list(refused.reasons) == ["retention"]
