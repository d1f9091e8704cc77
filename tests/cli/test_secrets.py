"""`dueline secret …`."""

from tests.api.serving import ServedApi
from tests.cli.conftest import Command


def test_a_secret_is_made_and_another_only_when_asked_again(cli: Command, process: Command, api: ServedApi) -> None:
    assert cli("secret", "show", "-o", "json").json == {"set": False, "rotated_at": None}
    made = cli("secret", "rotate", "-o", "json")
    assert made.json["secret"].startswith("whsec_")
    assert "not shown again" in made.err
    shown = cli("secret", "show")
    assert made.json["rotated_at"] in shown.out
    assert made.json["secret"] not in shown.out
    said_no = process("secret", "rotate", typed="n\n", DUELINE_URL=api.url)
    assert (said_no.code, said_no.out) == (1, "")
    assert cli("secret", "show", "-o", "json").json["rotated_at"] == made.json["rotated_at"]
    again = cli("secret", "rotate", "--yes", "-o", "json").json
    assert again["secret"] != made.json["secret"]
