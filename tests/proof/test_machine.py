"""The watch tells when the machine stood still, and nothing else."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from proof.machine import STALL_S, Watch
from proof.records import STALLS, Stall, read_lines


def test_a_watch_that_did_not_get_to_run_tells_for_how_long(tmp_path: Path) -> None:
    log = tmp_path / STALLS
    watch = Watch(log)
    os.kill(watch.pid, signal.SIGSTOP)
    stopped_s = time.time()
    time.sleep(4 * STALL_S)
    went_on_s = time.time()
    os.kill(watch.pid, signal.SIGCONT)
    watch.close()
    found = [stall for stall in read_lines(log, Stall) if stall.begin_s <= went_on_s and stall.end_s >= went_on_s]
    assert len(found) == 1
    assert found[0].end_s - stopped_s >= 4 * STALL_S
    assert sorted(path.name for path in tmp_path.iterdir()) == [STALLS]
