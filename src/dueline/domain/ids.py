"""Ids: 16 bytes inside, TypeID text outside (`job_01h455vb4pex5vsknk084sn02q`).

Every id starts with 48 bits of milliseconds, as UUIDv7 has them, so ids sort by time. A job id is random behind them; the id of a
scheduled run is a hash of what it stands for, so writing the same occurrence twice is a conflict and not a second run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from typing import NewType, cast

from dueline.domain.errors import Invalid

JobId = NewType("JobId", bytes)
RunId = NewType("RunId", bytes)
BootId = NewType("BootId", str)

ID_BYTES = 16
ENTROPY_BYTES = 10

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_VALUES = {letter: value for value, letter in enumerate(_ALPHABET)}
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
_JOB_TEXTS_KEPT = 10_000
_TEXT_LETTERS = 26
_FREE = bytes([0x0F, 0xFF, 0x3F]) + b"\xff" * 7
_FIXED = bytes([0x70, 0x00, 0x80]) + bytes(7)
"""What is random behind the time of an id, and what says that it is a UUIDv7."""
_SPREAD = 128
"""How many ids are spread out together."""
_PLACE_BYTES = 32
_FRONT = bytes(_PLACE_BYTES - ID_BYTES)
_LETTERS = _ALPHABET.encode().ljust(256, b"?")
"""By the number of a letter, for `bytes.translate`."""


def new_job_id(at_ms: int, entropy: bytes) -> JobId:
    """A job id made at `at_ms` from ten random bytes."""
    return JobId(_uuid7(at_ms, entropy))


def new_run_id(at_ms: int, entropy: bytes) -> RunId:
    """The id of a run that somebody asked for: manual and ad-hoc runs have no occurrence to be named after."""
    return RunId(_uuid7(at_ms, entropy))


def new_run_ids(at_ms: Sequence[int], entropy: bytes) -> list[RunId]:
    """The same for many runs, each of which has its ten bytes: for all at once it takes a fifth of the time."""
    if at_ms and not 0 <= min(at_ms) <= max(at_ms) < 1 << 48:
        raise ValueError("a time does not fit an id")
    count = len(at_ms)
    drawn, free, fixed = (int.from_bytes(octets, "big") for octets in (entropy, _FREE * count, _FIXED * count))
    tails = (drawn & free | fixed).to_bytes(ENTROPY_BYTES * count, "big")
    places = range(0, len(tails), ENTROPY_BYTES)
    ids = [
        one_ms.to_bytes(6, "big") + tails[place : place + ENTROPY_BYTES]
        for one_ms, place in zip(at_ms, places, strict=True)
    ]
    return cast("list[RunId]", ids)


def occurrence_run_id(job_id: JobId, scheduled_ms: int, kind: str) -> RunId:
    """The id of the one run of (job, scheduled time, kind): the same for everyone who computes it."""
    digest = blake2b(b"%b%d/%b" % (job_id, scheduled_ms, kind.encode()), digest_size=ENTROPY_BYTES).digest()
    return RunId(_uuid7(scheduled_ms, digest))


def derived_run_id(run_id: RunId, why: str) -> RunId:
    """The id of a run that takes the place of another: the same for everyone who computes it, at the same time of the schedule."""
    digest = blake2b(b"%b/%b" % (run_id, why.encode()), digest_size=ENTROPY_BYTES).digest()
    return RunId(_uuid7(id_ms(run_id), digest))


def first_id_at(at_ms: int) -> bytes:
    """The lowest id of a millisecond: a bound for time ranges over ids."""
    return max(at_ms, 0).to_bytes(6, "big") + bytes(10)


def id_ms(identifier: bytes) -> int:
    """The millisecond in front of an id."""
    return int.from_bytes(identifier[:6], "big")


@lru_cache(maxsize=_JOB_TEXTS_KEPT)
def job_text(job_id: bytes) -> str:
    """Kept, because the runs of a job name it again and again."""
    return "job_" + _encode(job_id)


def run_text(run_id: bytes) -> str:
    return "run_" + _encode(run_id)


def run_texts(run_ids: Sequence[bytes]) -> list[str]:
    """The same for many, in their order: a fraction of the time, because all letters of some ids are worked out at once."""
    texts: list[str] = []
    for start in range(0, len(run_ids), _SPREAD):
        together = run_ids[start : start + _SPREAD]
        letters = int.from_bytes(_FRONT.join(together), "big")
        for low, high, shift in _spreading():
            letters = letters & low | (letters & high) << shift
        size = _PLACE_BYTES * len(together)
        row = letters.to_bytes(size, "big").translate(_LETTERS).decode()
        texts += ["run_" + row[end - _TEXT_LETTERS : end] for end in range(_PLACE_BYTES, size + 1, _PLACE_BYTES)]
    return texts


def parse_job_id(text: str, *, field: str = "job_id") -> JobId:
    return JobId(_parse("job", text, field))


def parse_run_id(text: str, *, field: str = "run_id") -> RunId:
    return RunId(_parse("run", text, field))


def _uuid7(at_ms: int, tail: bytes) -> bytes:
    if not 0 <= at_ms < 1 << 48:
        raise ValueError(f"{at_ms} ms does not fit an id")
    bits = int.from_bytes(tail[:ENTROPY_BYTES], "big") & ~(0xF << 76 | 0x3 << 62) | 0x7 << 76 | 0x2 << 62
    return (at_ms << 80 | bits).to_bytes(ID_BYTES, "big")


def _encode(identifier: bytes) -> str:
    """Three letters at a time: every run that is called is told its id."""
    number = int.from_bytes(identifier, "big")
    triples = _triples()
    return (
        f"{_PAIRS[number >> 120]}{triples[number >> 105 & 32767]}{triples[number >> 90 & 32767]}"
        f"{triples[number >> 75 & 32767]}{triples[number >> 60 & 32767]}{triples[number >> 45 & 32767]}"
        f"{triples[number >> 30 & 32767]}{triples[number >> 15 & 32767]}{triples[number & 32767]}"
    )


@cache
def _spreading() -> list[tuple[int, int, int]]:
    """How the five bits of each letter get a byte of their own: in places of 32 bytes the upper half of the letters moves up into the upper
    half of the bytes; then the same in each half, and so on. Each step is what stays, what moves, and by how much."""
    steps = []
    for place in (256, 128, 64, 32, 16):
        letter_bits = place // 2 * 5 // 8
        one = sum((1 << letter_bits) - 1 << at for at in range(0, 8 * _PLACE_BYTES, place))
        stays = int.from_bytes(one.to_bytes(_PLACE_BYTES, "big") * _SPREAD, "big")
        steps.append((stays, stays << letter_bits, place // 2 - letter_bits))
    return steps


@cache
def _triples() -> list[str]:
    """32,768 of them: made by whoever has ids to tell, and not by every command that is started."""
    return [pair + letter for pair in _PAIRS for letter in _ALPHABET]


def _parse(prefix: str, text: str, field: str) -> bytes:
    head, _, tail = text.rpartition("_")
    if head != prefix or len(tail) != _TEXT_LETTERS or tail[0] > "7":
        raise Invalid((field, f"is not a {prefix} id ({prefix}_ and 26 letters)"))
    number = 0
    for letter in tail:
        value = _VALUES.get(letter)
        if value is None:
            raise Invalid((field, f"is not a {prefix} id: {letter!r} is not one of its letters"))
        number = number << 5 | value
    return number.to_bytes(ID_BYTES, "big")
