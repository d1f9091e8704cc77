"""Schemathesis reads the document, and finds nothing: what it allows is answered as it says, and what it does not allow is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dueline.api.app import ROUTES
from tests.api.serving import ServedApi

CONFIG = Path(__file__).parent / "schemathesis.toml"
CASES = int(os.environ.get("CASES") or 2_000)
SEED = 20_260_329


def cases_sent(api: ServedApi, folder: Path, *, examples: int, phases: str, seed: int) -> int:
    """How many requests were made. What Schemathesis finds fails the test, with the requests that show it."""
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"),
        *(f"{api.url}/v1/openapi.json", "--phases", phases, "--mode", "all"),
        *("--max-examples", str(examples), "--seed", str(seed), "--report-json-path", str(folder / "report.json")),
    ]
    # It keeps what it finds in the folder where it runs.
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-5_000:]
    report = json.loads((folder / "report.json").read_text())
    assert report["complete"]
    assert report["operations"]["tested"] == len(ROUTES)
    generated: int = report["test_cases"]["generated"]
    return generated


def test_nothing_is_found_in_a_minute(api: ServedApi, tmp_path: Path) -> None:
    assert cases_sent(api, tmp_path, examples=1, phases="fuzzing", seed=SEED) >= len(ROUTES)


@pytest.mark.long
def test_nothing_is_found_in_many_cases(api: ServedApi, tmp_path: Path) -> None:
    sent = 0
    for seed in range(SEED, SEED + 100):
        examples = max(CASES // len(ROUTES) // 2, 1)
        sent += cases_sent(api, tmp_path, examples=examples, phases="examples,coverage,fuzzing,stateful", seed=seed)
        if sent >= CASES:
            break
    print(f"{sent} cases, and nothing found")
