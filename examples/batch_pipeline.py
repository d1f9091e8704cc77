"""A batch: the words of each text file in a folder are counted by a run of its own, and what they found is put together.

    dueline serve --app batch_pipeline:app --processes 4
    python batch_pipeline.py books/ --batch 2026-03-29

Break it off, or let a file be unreadable, and start it again: under the same name of a batch what is under way is waited for, what
succeeded within a day is not done again, and what failed is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dueline import App, Client
from dueline.sdk.models import RunState, RunView

app = App("batch")


@app.task(name="count-words")
def count_words(path: str) -> int:
    return len(Path(path).read_text(encoding="utf-8").split())


def order(batch: str, path: Path) -> dict[str, Any]:
    """What is asked for of one file. The key makes it one run, however often it is asked for."""
    return {
        "task": count_words.name,
        "args": {"path": str(path)},
        "timeout": "5m",
        "retry": {"max_attempts": 2},
        "tags": [batch],
        "dedupe_key": f"{batch}/{path.name}",
        "dedupe_window": "1d",
        "on_conflict": "ignore",
    }


def fan_out(client: Client, batch: str, paths: Sequence[Path]) -> list[str]:
    """Ask for a run for each file, a thousand in a call; answers their ids."""
    items = client.runs.enqueue_many(order(batch, path) for path in paths)
    refused = [item.problem.detail for item in items if item.problem is not None]
    if refused:
        sys.exit(f"{len(refused)} runs were refused, such as: {refused[0]}")
    return [item.run.id for item in items if item.run is not None]


def fan_in(paths: Sequence[Path], runs: Sequence[RunView]) -> int:
    """Put together what the runs found, or end with those that failed."""
    failed = [(path, run) for path, run in zip(paths, runs, strict=True) if run.state != RunState.SUCCEEDED]
    for path, run in failed:
        print(f"{path}: {run.state}: {run.error}", file=sys.stderr)
    if failed:
        sys.exit(f"{len(failed)} of {len(runs)} failed. Correct them, then start the same batch again.")
    return sum(int(run.result or 0) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--batch", required=True, help="the name of the batch")
    arguments = parser.parse_args()
    paths = sorted(arguments.folder.resolve().glob("*.txt"))
    with Client() as client:
        runs = [client.runs.wait(run_id) for run_id in fan_out(client, arguments.batch, paths)]
    print(f"{fan_in(paths, runs)} words in {len(paths)} files.")


if __name__ == "__main__":
    main()
