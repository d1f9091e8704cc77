"""What was told is undone, the last first, whoever ends and however; and what could not be undone is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from proof.tools.undo import Undo, UndoFailed
from tests.support import processes

ROOT = Path(__file__).parents[3]


def remove(*folders: Path, failing: bool = False) -> None:
    with Undo() as undo:
        for folder in folders:
            undo.later("rmdir", folder)
        if failing:
            raise ZeroDivisionError


def test_the_last_is_undone_first(tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    with Undo() as undo:
        for folder in (outer, outer / "inner"):
            undo.later("rmdir", folder)
            folder.mkdir()
    assert not outer.exists()


def test_what_is_left_is_told_and_the_rest_is_undone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(UndoFailed, match="nowhere"):
        remove(folder, tmp_path / "nowhere")
    assert not folder.exists()


def test_an_error_is_not_hidden_by_what_was_not_done_because_of_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        remove(tmp_path / "nowhere", failing=True)


def test_a_killed_process_is_tidied_up_after(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    program = (
        "import sys\n"
        "from proof.tools.undo import Undo\n"
        "with Undo() as undo:\n"
        "    undo.later('rmdir', sys.argv[1])\n"
        "    undo.later('rmdir', sys.argv[1] + '/nowhere')\n"
        "    print(flush=True)\n"
        "    input()\n"
    )
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        victim.stdout.readline()
        undoing = processes.children_of(victim.pid)
        victim.kill()
    assert len(undoing) == 1
    processes.wait_until_dead(undoing, within_s=10)
    assert not folder.exists()
