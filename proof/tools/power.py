"""A disk whose power can be cut: what was not synced through to it is gone.

The disk is an ext4 filesystem in an image behind a loop device. What a program wrote stays in the cache of that filesystem, above
the image, until somebody syncs it or half a minute has passed. So a copy of the image is what the disk holds at that moment, and to
mount the copy is to switch the power on again. What has been handed to the device counts as durable: the cache of a real disk, which
a flush would have to empty, is not played.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proof.tools.evidence import Evidence
from proof.tools.root import lacking, run
from proof.tools.undo import Undo

BASE_DIR = Path("/tmp")
"""Short, and every account may traverse it."""
OPTIONS = "noatime,commit=300"
"""The filesystem writes its own journal only when asked to: it must not sync for those who do not."""
# A cut has detached and unmounted already, and the number of a device may be somebody else's by now.
DETACH = 'if losetup "$1" 2>/dev/null | grep -qF "$2"; then losetup --detach "$1"; fi'
UNMOUNT = 'if mountpoint -q "$1"; then umount --lazy "$1"; fi'
CANARY = b"not synced" * 400
SETTLED_S_MAX = 10.0
COPIES_MAX = 10
POLL_S = 0.005


def why_not() -> str | None:
    if (missing := lacking("mount", "umount", "losetup", "mkfs.ext4", "mountpoint", "cp")) is not None:
        return missing
    if "\text4\n" not in Path("/proc/filesystems").read_text():
        return "the kernel has no ext4"
    return None if Path("/dev/loop-control").exists() else "the kernel has no loop devices"


@dataclass
class PoweredDisk:
    """`folder` is the same before and after a cut; what is open in it across one is on the disk that was switched off."""

    folder: Path
    _images: Path
    _undo: Undo
    _device: str = ""
    _cuts: int = 0

    def sync(self) -> None:
        """Bring everything to the disk: the state before the story begins."""
        run("sync", "--file-system", self.folder)

    def cut(self, pids: Sequence[int]) -> Evidence:
        """Stop the processes wherever they are, take the disk as it is, kill them, and come back with what the disk holds.

        Parents come before their children. A canary that nobody syncs shows that the cut was one: it is lost.
        """
        canary = self.folder / "canary"
        canary.write_bytes(CANARY)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        source, copy = self._image, self._image.with_name(f"{self._cuts + 1}.img")
        copies = self._copy(source, copy)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        run("umount", "--lazy", self.folder)
        run("losetup", "--detach", self._device)
        self._cuts += 1
        self.switch_on()
        source.unlink()
        canary_lost = not canary.exists() or canary.read_bytes() != CANARY
        canary.unlink(missing_ok=True)
        return {"cuts": self._cuts, "stopped": len(pids), "copies": copies, "canary_lost": canary_lost}

    def switch_on(self) -> None:
        self._device = run("losetup", "--find", "--show", self._image).strip()
        self._undo.later("sh", "-c", DETACH, "sh", self._device, self._image)
        self._undo.later("sh", "-c", UNMOUNT, "sh", self.folder)
        run("mount", "-t", "ext4", "-o", OPTIONS, self._device, self.folder)

    @property
    def _image(self) -> Path:
        return self._images / f"{self._cuts}.img"

    def _copy(self, source: Path, copy: Path) -> int:
        """Copy the image at one moment: if something was written to it meanwhile, once more. Answers how often it took."""
        for copies in range(1, COPIES_MAX + 1):
            before = self._writes()
            run("cp", "--sparse=always", source, copy)
            if before == self._writes():
                return copies
        raise TimeoutError("somebody else writes to the disk all the time")

    def _writes(self) -> tuple[str, str]:
        """How much has been written to the device, as soon as nothing is on the way to it."""
        deadline = time.monotonic() + SETTLED_S_MAX
        while True:
            counts = Path(f"/sys/block/{Path(self._device).name}/stat").read_text().split()
            # By the kernel's list: the fifth is the writes that are done, the seventh their sectors, the ninth what is on the way.
            if counts[8] == "0":
                return counts[4], counts[6]
            if time.monotonic() > deadline:
                raise TimeoutError("the disk does not come to rest")
            time.sleep(POLL_S)


@contextmanager
def powered_disk(size_bytes: int) -> Iterator[PoweredDisk]:
    """A new disk, empty; gone with all that is on it, however this process ends."""
    root = Path(tempfile.mkdtemp(prefix="dueline-power-", dir=BASE_DIR))
    root.chmod(0o755)
    with Undo() as undo:
        undo.later("rm", "-rf", "--one-file-system", root)
        folder, images = root / "disk", root / "images"
        folder.mkdir()
        images.mkdir(mode=0o700)
        disk = PoweredDisk(folder, images, undo)
        with disk._image.open("wb") as image:
            image.truncate(size_bytes)
        run("mkfs.ext4", "-q", "-F", disk._image)
        disk.switch_on()
        folder.chmod(0o1777)
        disk.sync()
        yield disk
