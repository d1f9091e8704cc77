"""`dueline queue …`."""

from tests.cli.conftest import Command


def test_a_queue_is_paused_shown_and_resumed(cli: Command) -> None:
    cli("run", "create", "--url", "http://127.0.0.1:9/", "--queue", "mail")
    row = cli("queue", "list").out.splitlines()[1].split()
    assert (row[:3], row[7:]) == (["mail", "active", "1"], ["s", "0.0/s", "0", "0/0", "-"])
    assert cli("queue", "get", "mail", "-o", "json").json["ready"] == 1
    assert cli("queue", "pause", "mail", "--note", "moving", "-o", "json").json["note"] == "moving"
    row = cli("queue", "list").out.splitlines()[1].split()
    assert (row[:2], row[-1]) == (["mail", "paused"], "moving")
    assert cli("queue", "list", "-o", "json").json["items"][0]["paused"] is True
    assert "mail" in cli("queue", "resume", "mail").out
    assert cli("queue", "resume", "mail").code == 0
    assert cli("queue", "pause", "a b").code == 2
