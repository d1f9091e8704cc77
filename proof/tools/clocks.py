"""A wall clock of its own for a process, which jumps while it runs."""

from __future__ import annotations

import os
import shutil
import struct
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import Path

from proof.tools.evidence import Evidence
from proof.tools.root import run
from proof.tools.undo import Undo

SHIM = Path(__file__).with_name("clock_shim.c")
BASE_DIR = Path("/tmp")
"""Every account may traverse it."""
ANSWER_S_MAX = 5.0


def why_not() -> str | None:
    return None if shutil.which("cc") else "there is no C compiler (cc)"


@dataclass(frozen=True)
class JumpingClock:
    """Whoever is started with `environment` has this clock, and so have its children. Several processes may share it."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.folder / "clock.so"), "PROOF_CLOCK": str(self.folder / "offset")}

    @property
    def offset_s(self) -> float:
        (offset_ns,) = struct.unpack("=q", (self.folder / "offset").read_bytes())
        return float(offset_ns / 1e9)

    def jump(self, seconds: float) -> Evidence:
        """Move the clock at once, forward or back. Monotonic clocks go on as if nothing were."""
        offset_s = self.offset_s + seconds
        # One write of eight bytes into the page that all of them have mapped.
        with (self.folder / "offset").open("r+b", buffering=0) as file:
            os.pwrite(file.fileno(), struct.pack("=q", round(offset_s * 1e9)), 0)
        return {"jumped_s": seconds, "offset_s": offset_s}

    def heal(self) -> Evidence:
        """Let the clock agree with the machine's again, which is a jump as well."""
        return self.jump(-self.offset_s)


def offset_told(url: str) -> Evidence:
    """By how much the clock of a server differs from ours, by its own word: an answer carries its date, to the second."""
    with urllib.request.urlopen(url, timeout=ANSWER_S_MAX) as answer:
        told = parsedate_to_datetime(answer.headers["Date"]).timestamp()
    return {"told_offset_s": round(told - time.time(), 3)}


@contextmanager
def jumping_clock() -> Iterator[JumpingClock]:
    """Begins as the machine's clock. The files go with this process; those who still have the clock keep what they have mapped."""
    folder = Path(tempfile.mkdtemp(prefix="dueline-clock-", dir=BASE_DIR))
    with Undo() as undo:
        undo.later("rm", "-rf", folder)
        folder.chmod(0o755)
        run("cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", folder / "clock.so", SHIM)
        (folder / "offset").write_bytes(struct.pack("=q", 0))
        yield JumpingClock(folder)
