"""What a worker and a process of its tasks say to each other: messages in MessagePack, each behind its length."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from dueline.domain import limits
from dueline.domain.run import Outcome
from dueline.tasks.context import Report, RunInfo

_LENGTH_BYTES = 4
_encoder = msgspec.msgpack.Encoder()

M = TypeVar("M")


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """First of all: the app to load, and where modules are found."""

    app: str
    path: list[str]


class Call(msgspec.Struct, frozen=True, tag="call"):
    """Run a task. Only sent to a process that is ready, or has ended the call before."""

    task: str
    arguments: bytes
    info: RunInfo


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Ask the task under way to stop."""

    reason: str


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The app is loaded."""


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """The app cannot be loaded."""

    error: str


class Begun(msgspec.Struct, frozen=True, tag="begun"):
    """The task's function is called next: before this, a call has had no effect."""


class Told(msgspec.Struct, frozen=True, tag="told"):
    """The task under way reports something."""

    report: Report


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The task under way has ended."""

    outcome: Outcome


ToChild = Begin | Call | Stop
FromChild = Ready | Broken | Begun | Told | Ended


class Noise(Exception):
    """What came is no message: the other side is not what it should be."""


def pack(message: ToChild | FromChild) -> bytes:
    body = _encoder.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class Unpacker(Generic[M]):
    """Messages from bytes that come in pieces."""

    def __init__(self, kinds: Any) -> None:
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(kinds)
        self._buffer = bytearray()

    def feed(self, piece: bytes) -> list[M]:
        """The messages that are whole now. Raises Noise, after which nothing can be read any more."""
        self._buffer += piece
        messages = []
        begin = 0
        while len(self._buffer) - begin >= _LENGTH_BYTES:
            length = int.from_bytes(self._buffer[begin : begin + _LENGTH_BYTES], "big")
            if length > limits.TASK_FRAME_BYTES_MAX:
                raise Noise(f"a message of {length} bytes")
            end = begin + _LENGTH_BYTES + length
            if len(self._buffer) < end:
                break
            try:
                messages.append(self._decoder.decode(memoryview(self._buffer)[begin + _LENGTH_BYTES : end].tobytes()))
            except msgspec.MsgspecError as error:
                raise Noise(str(error)) from None
            begin = end
        del self._buffer[:begin]
        return messages
