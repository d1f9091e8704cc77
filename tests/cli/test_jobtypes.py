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


def test_whoever_names_a_task_is_told_what_does_not_fit(cli: Command, api: ServedApi) -> None:
    api.on_store(lambda store: Offers(store, app).step())
    fitting = cli("job", "create", "--task", "add", "--arg", "a=1", "-o", "json")
    assert (fitting.code, fitting.err) == (0, "")
    for command in ("job", "run"):
        odd = cli(command, "create", "--task", "add", "--arg", "c=1", "-o", "json")
        assert (odd.code, odd.json["id"].startswith(command)) == (0, True), (
            "nothing is refused: the worker may be the older one"
        )
        assert odd.err.splitlines() == [
            "Note: target.args.a is required, say the workers that have this task.",
            "Note: target.args.c is unknown, say the workers that have this task.",
        ]
    unknown = cli("run", "create", "--task", "ad")
    assert (unknown.code, unknown.err.splitlines()) == (
        0,
        ["Note: no worker has offered this task yet (no job type ad: did you mean add?)."],
    )
    edited = cli("job", "edit", fitting.json["id"], "--args", '{"a": null}')
    assert "target.args.a is required" in edited.err
    assert cli("job", "edit", fitting.json["id"], "--priority", "9").err == ""
