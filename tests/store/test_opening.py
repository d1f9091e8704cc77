"""What opening a store does to its process."""

import subprocess
import sys
from pathlib import Path

import apsw

from dueline.store.sqlite.session import stop_counting_memory

# Whether SQLite counts what a connection uses that was opened after the store was made.
COUNTED = """
import sys, apsw
from dueline.runtime.clock import SystemClock
from dueline.store.opening import make_store

make_store(sys.argv[1], SystemClock())
connection = apsw.Connection(sys.argv[1])
connection.execute("CREATE TABLE numbers (number)")
print(apsw.memory_used())
"""


def test_a_process_with_an_embedded_store_does_not_count_sqlites_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COUNTED, str(tmp_path / "dueline.db")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


def test_connections_that_are_open_stay_as_they_are() -> None:
    connection = apsw.Connection(":memory:")
    stop_counting_memory()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
    assert apsw.memory_used() > 0
    connection.close()
