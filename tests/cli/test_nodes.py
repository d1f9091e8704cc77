"""`dueline node …`."""

from tests.api.serving import ServedApi
from tests.cli.conftest import Command
from tests.support.stores import register


def test_processes_are_listed_shown_and_drained(cli: Command, api: ServedApi) -> None:
    api.on_store(lambda store: register(store, "w9", slots=4, queues=("a", "b"), tasks=("x", "y")))
    row = cli("node", "list").out.splitlines()[1].split()
    assert row[9:11] == ["-", "2"]
    assert row[:9] == ["w9", "alive", "worker", "here", "1", "1", "0/4", "a", "b"]
    assert cli("node", "list", "-o", "json").json["items"] == [cli("node", "get", "w9", "-o", "json").json]
    assert "w9" in cli("node", "drain", "w9", "--yes").out
    assert cli("node", "drain", "w8").code == 3
    assert cli("node", "get", "w8").code == 3
