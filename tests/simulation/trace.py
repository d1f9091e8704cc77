"""What happened, line by line. Two runs of a seed are the same when their digests are; the text is kept when somebody wants to read it."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from hashlib import blake2b

import msgspec

Line = tuple[float, str, str, str | int]
_LINES_TOGETHER = 1_000


class Fault(StrEnum):
    """What can go wrong. Each must have happened in any larger number of seeds."""

    FAIL_BEFORE = "call fails before its effect"
    LOST_REPLY = "reply lost after the effect"
    DELAY = "call delayed for long"
    LATE_ANSWER = "answer delayed for long"
    CRASH_BEFORE = "crash before a call's effect"
    CRASH_AFTER = "crash after a call's effect"
    STALL = "process paused at a call"
    KILL = "process killed"
    PAUSE = "process paused"
    PARTITION = "process cut off from the store"
    SLOW_STORE = "store slow for all"
    DEAF = "wake-ups of a process lost"
    LOST_WAKEUP = "single wake-up lost"
    WALL_STEP = "wall clock of a machine set"
    STORE_FORWARD = "clock of the store set forward"
    STORE_BACK = "clock of the store set back a little"
    DRAIN = "process drained and restarted"
    JOIN = "another process joins"
    LEAVE = "process leaves for good"
    TARGET = "target fails"


class Fact(StrEnum):
    """What must sometimes come of it: otherwise the faults did not bite."""

    FENCED = "an end was refused for its token"
    FIRING_REFUSED = "a firing was refused"
    CONFIRM_REFUSED = "a held run was not confirmed"
    LEASE_LOST = "a process learned that it was declared dead"
    BURIED = "a process was declared dead"
    RECLAIMED = "a run was taken from its owner"
    LOST = "an attempt was lost"
    RETRIED = "a run was tried again"
    RELEASED = "a run was given back"
    POSTPONED = "a run was put off"
    BLOCKED = "a run found its job's place taken"
    SHARDS_TAKEN = "shards were taken over"
    SHARDS_DROPPED = "shards were handed over"
    WITHHELD = "a call was withheld for want of a trusted lease"
    HELD = "a run was held for another"
    DISPLACED = "a run was asked to end for a later one"
    COALESCED = "an occurrence was coalesced"
    SKIPPED = "an occurrence was skipped"
    EXPIRED = "a run expired"
    DEAD = "a run became a dead letter"
    REDRIVEN = "a dead letter was redriven"
    CANCELLED = "a run was cancelled by request"
    UNKNOWN = "a client was left in doubt"
    LATE_EFFECT = "a call took effect after its caller had given up"
    EFFECT_AFTER_DEATH = "a call took effect after its caller had died"
    DOUBLE_HIT = "a run hit its target twice"
    CAME_DUE = "a run came due while the answer to its claim travelled"
    AT_GATE = "a run was held at a gate, or sent back to its queue"
    AWAITED_TOKEN = "a run was let through a gate for a later moment"
    OVER_QUOTA = "a tenant asked for more than its quota"
    KEY_TAKEN = "a run was not written because another had its key"
    KEY_REPLACED = "a run was ended for another with its key"
    KEY_MOVED = "a run got the due time of another with its key"


class Trace:
    """Lines are taken in many at a time, and not made into text unless somebody wants it: there is one for every call."""

    def __init__(self, *, keep: bool) -> None:
        self._digest = blake2b(digest_size=16)
        self._encode = msgspec.msgpack.Encoder().encode
        self._keep = keep
        self._text: list[str] = []
        self._lines: list[Line] = []
        self.faults: Counter[Fault] = Counter()
        self.facts: Counter[Fact] = Counter()

    def add(self, now_s: float, who: str, what: str, became: str | int = "") -> None:
        """`became` is what came of it, where that is worth a word."""
        self._lines.append((now_s, who, what, became))
        if len(self._lines) >= _LINES_TOGETHER:
            self._take_in()

    @property
    def digest(self) -> str:
        self._take_in()
        return self._digest.hexdigest()

    @property
    def text(self) -> str:
        self._take_in()
        return "".join(self._text)

    def _take_in(self) -> None:
        if not self._lines:
            return
        self._digest.update(self._encode(self._lines))
        if self._keep:
            self._text += [f"{now_s:.6f} {who} {what} {became}\n" for now_s, who, what, became in self._lines]
        self._lines.clear()
