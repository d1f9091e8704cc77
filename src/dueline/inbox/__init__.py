"""For programs that Dueline calls: check where a call came from, and let each run have its effect once.

It needs no server and no driver of a database besides the receiver's own.
"""

from __future__ import annotations

from dueline.domain.errors import Misused
from dueline.inbox.delivery import Delivery
from dueline.inbox.errors import MalformedHeader, MissingHeader, OutOfTime, Rejected, WrongSignature
from dueline.inbox.inbox import Inbox

__all__ = [
    "Delivery",
    "Inbox",
    "MalformedHeader",
    "MissingHeader",
    "Misused",
    "OutOfTime",
    "Rejected",
    "WrongSignature",
]
