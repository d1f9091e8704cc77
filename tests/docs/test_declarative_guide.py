"""The guide to jobs in files says what is true: its files are read, its jobs are taken, and its numbers are ours."""

import re
from pathlib import Path

from dueline.cli import exits
from dueline.declared.documents import File, read_files
from dueline.declared.owners import DEFAULT_OWNER, OWNER_LETTERS_MAX
from dueline.domain.ids import JobId
from dueline.wire.jobs import JobInput, to_definition
from dueline.wire.problems import Problems
from dueline.wire.reading import encode, read_body

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "declarative.md").read_text()
FILES = re.findall(r"```yaml\n(.*?)```", GUIDE, flags=re.DOTALL)
NOW_MS = 1_767_225_600_000


def test_the_files_of_the_guide_are_read_and_their_jobs_taken() -> None:
    first, second = (read_files([File("jobs.yaml", text)]) for text in FILES)
    assert [(one.name, one.owner) for one in first.declared] == [("nightly-report", "shop"), ("sync", "shop")]
    assert [(one.name, one.owner) for one in second.declared] == [("digest", "mail"), ("cleanup", DEFAULT_OWNER)]
    assert first.faults == second.faults == []
    for one in [*first.declared, *second.declared]:
        problems = Problems()
        form = read_body(encode(one.job), JobInput, problems)
        definition = to_definition(form, problems, job_id=JobId(bytes(16)), now_ms=NOW_MS)
        assert definition.name == one.name
    assert second.declared[0].job["queue"] == "mail"


def test_its_numbers_are_ours() -> None:
    assert f"up to {OWNER_LETTERS_MAX} of the letters" in GUIDE
    assert f"or else `{DEFAULT_OWNER}`" in GUIDE
    assert f"exits with {exits.CHANGES} if there is something to do" in GUIDE
    assert f"the exit code is {exits.CONFLICT}" in GUIDE
