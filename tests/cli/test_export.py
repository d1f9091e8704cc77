"""`dueline export`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dueline.runtime.clock import SystemClock
from dueline.store.sqlite.store import SqliteStore
from tests.api.serving import ServedApi
from tests.cli.conftest import Command


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ServedApi]:
    """A server of this test's own: the command looks at all jobs."""
    with ServedApi(lambda: SqliteStore(tmp_path / "dueline.db", SystemClock())) as api:
        yield api


@pytest.fixture
def filled(api: ServedApi) -> ServedApi:
    api.create(name="b", schedule={"cron": "0 9 * * *"}, tags=["mail", "owner:shop"])
    api.create(name="a", target={"task": "t", "args": {"on": "no"}}, tags=["owner:shop"])
    api.create(name="c", tags=["mail"], target={"url": "http://127.0.0.1:9/", "headers": {"Authorization": "x"}})
    return api


SHOP = """---
owner: shop
jobs:
- name: a
  target:
    task: t
    args:
      'on': 'no'
- name: b
  schedule:
    cron: 0 9 * * *
    timezone: UTC
  target:
    url: http://127.0.0.1:9/
  tags:
  - mail
"""
NOBODYS = """---
owner: null
jobs:
- name: c
  target:
    url: http://127.0.0.1:9/
    headers:
      Authorization: x
  tags:
  - mail
"""


@pytest.mark.usefixtures("filled")
def test_jobs_are_written_by_owner_and_name(cli: Command) -> None:
    ended = cli("export")
    assert (ended.code, ended.out) == (0, SHOP + NOBODYS)
    assert ended.err == "Look before you share this: headers of c may let their reader in.\n"
    assert cli("export", "--owner", "shop").out == SHOP
    assert [one["name"] for one in json.loads(cli("export", "--owner", "shop", "-o", "json").out)["jobs"]] == ["a", "b"]
    assert [one["owner"] for one in json.loads(cli("export", "-o", "json").out)] == ["shop", None]


@pytest.mark.usefixtures("filled")
def test_jobs_are_chosen_by_tag_and_owner(cli: Command) -> None:
    def names(*args: str) -> list[str]:
        found = cli("export", *args, "-o", "json").json
        return [job["name"] for one in (found if isinstance(found, list) else [found]) for job in one["jobs"]]

    assert names("--tag", "mail") == ["b", "c"]
    assert names("--tag", "mail", "--owner", "shop") == ["b"]
    assert names("--owner", "nobody") == []


@pytest.mark.parametrize("output", ["yaml", "json"])
def test_what_is_exported_and_applied_changes_nothing(
    cli: Command, filled: ServedApi, tmp_path: Path, output: str
) -> None:
    before = filled.call("GET", "/v1/jobs").json
    path = tmp_path / f"jobs.{output}"
    path.write_text(cli("export", "-o", output).out)
    ended = cli("apply", "-f", str(path), "--prune", "--dry-run", "--exit-code")
    assert (ended.code, ended.out) == (0, "0 to create, 0 to update, 0 to delete, 3 unchanged.\n")
    assert cli("apply", "-f", str(path), "--prune").code == 0
    assert filled.call("GET", "/v1/jobs").json == before


def test_an_export_of_nothing_can_be_applied(cli: Command, tmp_path: Path) -> None:
    path = tmp_path / "jobs.yaml"
    path.write_text(cli("export").out)
    assert path.read_text() == "---\nowner: null\njobs: []\n"
    assert cli("apply", "-f", str(path), "--prune").code == 0
