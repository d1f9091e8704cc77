"""Every metric is documented, with its type and its labels, and no other is."""

import re
from pathlib import Path

from dueline.api.metrics import OF_FLEET, OF_PROCESS, OF_QUEUES, STORE_UP, of_fleet, of_process, of_queues
from dueline.engine.fleet import QueueLoad
from dueline.engine.tallies import Tallies
from dueline.store.shapes import QueueState

METRICS = (Path(__file__).parents[2] / "docs" / "reference" / "metrics.md").read_text()


def rows() -> dict[str, tuple[str, set[str]]]:
    """Name → (type, labels), of every row of the tables."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in METRICS.splitlines() if line[:3] == "| `"
    ]
    return {row[0].strip("`"): (row[1], set(re.findall(r"`(\w+)`", row[2]))) for row in cells}


def test_every_metric_is_documented_and_no_other() -> None:
    assert set(rows()) == {STORE_UP, *OF_QUEUES, *OF_FLEET, *OF_PROCESS}


def test_types_and_labels_are_as_documented() -> None:
    state = QueueState(queue="q", ready=0, running=0, held=0, waiting=0, oldest_ms=None, paused=False, note=None)
    load = QueueLoad(state=state, oldest_age_ms=None, rate=0.0, workers=1, slots=1, busy=0)
    documented = rows()
    families = [*of_queues([load]), *of_fleet([], 0, now_ms=0), *of_process(Tallies())]
    assert len(families) == len(OF_QUEUES) + len(OF_FLEET) + len(OF_PROCESS)
    for family in families:
        kind, labels = documented[family.samples[0].name]
        assert (family.type, set(family.samples[0].labels)) == (kind, labels), family.name
