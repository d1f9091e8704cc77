"""`dueline jobtype …`."""

from dueline.worker.offers import Offers
from tests.api.serving import ServedApi
from tests.cli.conftest import Command
from tests.support.task_app import app


def test_tasks_are_listed_and_shown(cli: Command, api: ServedApi) -> None:
    api.on_store(lambda store: Offers(store, app).step())
    rows = [line.split() for line in cli("jobtype", "list").out.splitlines()]
    assert rows[1][:5] == ["add", "default", "0", "a", "[b]"]
    assert [one["name"] for one in cli("jobtype", "list", "-o", "json").json["items"]] == sorted(app.tasks)
    shown = [line.split() for line in cli("jobtype", "show", "add").out.splitlines()]
    assert ["a", "yes", "integer", "-"] in shown
    assert ["b", "no", "integer", "1"] in shown
    assert cli("jobtype", "show", "add", "-o", "json").json["parameters"]["required"] == ["a"]
    missing = cli("jobtype", "show", "ad")
    assert (missing.code, "did you mean add" in missing.err) == (3, True)
