"""What opening a store does to its process."""

import subprocess
import sys
from pathlib import Path

# Each in a process of its own, because it is set once for all of a process.
OPENED_AFTER = """
import sys, apsw
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store

make_store(sys.argv[1], SystemClock())
connection = apsw.Connection(sys.argv[1])
connection.execute("CREATE TABLE numbers (number)")
print(apsw.memory_used() > 0)
"""
OPENED_BEFORE = """
import sys, apsw
from dueline.store.sqlite.session import stop_counting_memory

connection = apsw.Connection(sys.argv[1])
stop_counting_memory()
connection.execute("CREATE TABLE numbers (number)")
print(apsw.memory_used() > 0)
"""


def test_a_process_with_an_embedded_store_does_not_count_sqlites_memory(tmp_path: Path) -> None:
    assert told(OPENED_AFTER, tmp_path) == "False\n"


def test_connections_that_are_open_stay_as_they_are(tmp_path: Path) -> None:
    assert told(OPENED_BEFORE, tmp_path) == "True\n"


def told(program: str, folder: Path) -> str:
    command = [sys.executable, "-c", program, str(folder / "dueline.db")]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
