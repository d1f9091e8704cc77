"""Schemathesis reads the document, and finds nothing: what it allows is answered as it says, and what it does not allow is refused."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dueline.api.app import ROUTES
from dueline.api.openapi.document import operation_of
from tests.api.serving import ServedApi
from tests.support.keys import AUTHORIZED

CONFIG = Path(__file__).parent / "schemathesis.toml"
CASES = int(os.environ.get("CASES") or 2_000)
SEED = 20_260_329
(READ_FROM,) = [operation_of(route).id for route in ROUTES if route.path == "/v1/openapi.json"]
OPERATIONS = len(ROUTES) - 1
"""All but the one that it reads the document from."""


def cases_sent(api: ServedApi, folder: Path, *, examples: int, phases: str, seed: int) -> int:
    """How many requests were made. What Schemathesis finds fails the test, with the requests that show it."""
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(CONFIG), "run"),
        *(f"{api.url}/v1/openapi.json", "--phases", phases, "--mode", "all"),
        *("--header", f"Authorization: {AUTHORIZED['Authorization']}"),
        *("--max-examples", str(examples), "--seed", str(seed), "--report-json-path", str(folder / "report.json")),
    ]
    spare = api.call("POST", "/v1/keys", {"role": "reader", "name": "to be revoked"}).json["id"]
    named = os.environ | {"SPARE_KEY_ID": spare}
    # It keeps what it finds in the folder where it runs.
    ran = subprocess.run(command, cwd=folder, env=named, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr[-5_000:]
    report = json.loads((folder / "report.json").read_text())
    assert report["complete"]
    if phases != "stateful":
        assert report["operations"]["tested"] == OPERATIONS
    generated: int = report["test_cases"]["generated"]
    return generated


def test_what_a_path_says_wholly_is_held_to_it() -> None:
    """A new route of the kind is missed by its name."""
    held = {
        operation_of(route).id
        for route in ROUTES
        if route.method in ("GET", "DELETE") and not route.query and not route.writes_job
    }
    told = [
        name
        for one in tomllib.loads(CONFIG.read_text())["operations"]
        if one.get("checks", {}).get("positive_data_acceptance", {}).get("enabled")
        for name in one["include-operation-id"]
    ]
    assert set(told) == held - {READ_FROM}


def test_nothing_is_found_in_a_minute(api: ServedApi, tmp_path: Path) -> None:
    assert cases_sent(api, tmp_path, examples=1, phases="fuzzing", seed=SEED) >= OPERATIONS


@pytest.mark.long
def test_nothing_is_found_in_many_cases(api: ServedApi, tmp_path: Path) -> None:
    """Every bound from both sides, what comes to mind besides, and what follows from an answer."""
    sent = cases_sent(api, tmp_path, examples=CASES // 500 or 1, phases="examples,coverage,fuzzing", seed=SEED)
    followed = cases_sent(api, tmp_path, examples=CASES // 40 or 1, phases="stateful", seed=SEED)
    assert sent + followed >= CASES
    print(f"{sent} cases, {followed} more that follow from others, and nothing found")
