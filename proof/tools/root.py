"""What faults of the machine need: root, and programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def lacking(*programs: str) -> str | None:
    """What is missing to run these programs as root."""
    if os.geteuid() != 0:
        return "it takes root"
    missing = [program for program in programs if shutil.which(program) is None]
    return f"there is no {', '.join(missing)}" if missing else None


def run(*command: str | Path) -> str:
    """What the command printed. One that fails is an error that says what it complained about."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{' '.join(str(part) for part in command)}: {done.stderr or done.stdout}")
    return done.stdout
