"""The receiver's side of at-least-once: deliveries are checked, and each run has its effect once."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from datetime import timedelta
from typing import Any, overload

from dueline.domain import limits
from dueline.domain.errors import Invalid, Misused
from dueline.domain.signing import is_signed, read_secret
from dueline.drivers import AsyncConnection, Rows, Statement, SyncConnection, run
from dueline.inbox import delivery as names
from dueline.inbox import statements
from dueline.inbox.delivery import Delivery, Headers, number, read_delivery, read_headers, required
from dueline.inbox.errors import MalformedHeader, OutOfTime, WrongSignature
from dueline.runtime.clock import Clock, SystemClock

_MILLISECOND = timedelta(milliseconds=1)
_CLOCK = SystemClock()


class Inbox:
    """Checks deliveries, and keeps receipts of them in a table of the receiver's own database.

    A receipt is written in the receiver's transaction. What is committed with it has happened once, however often the run is delivered;
    what is rolled back with it has not happened, and the next delivery is the first again.

    One inbox serves any number of connections; a connection serves one delivery at a time, because what shares a transaction is lost
    together. With an asynchronous connection the answers of an inbox are awaited.
    """

    def __init__(
        self,
        *,
        secret: str | Sequence[str] = (),
        unsigned: bool = False,
        table: str = "dueline_inbox",
        tolerance: timedelta = timedelta(seconds=limits.SIGNATURE_TOLERANCE_S),
        clock: Clock = _CLOCK,
    ) -> None:
        """`secret` is one `whsec_…` or several, each good by itself. `unsigned` takes every call at its word instead. An inbox with
        neither is for tasks: it cannot receive calls."""
        secrets = [secret] if isinstance(secret, str) else secret
        if secrets and unsigned:
            raise Invalid(("unsigned", "would leave the secret without a use"))
        self._keys = [read_secret(one) for one in secrets]
        self._unsigned = unsigned
        self._names = statements.read_table(table)
        self._tolerance_ms = tolerance // _MILLISECOND
        self._clock = clock

    @property
    def schema(self) -> str:
        """The statements that make the table and its index unless they are there, for PostgreSQL and SQLite alike."""
        return self._names.put_into(statements.SCHEMA)

    def receive(self, headers: Headers, body: bytes) -> Delivery:
        """The delivery that a call is, or Rejected. `body` is what arrived, byte for byte; the case of the headers' names is nothing."""
        if not self._keys and not self._unsigned:
            raise Misused("there is no secret to check calls with: give one, or say that they are unsigned")
        found = read_headers(headers)
        delivery = read_delivery(found)
        if not self._unsigned:
            self._check(found, delivery.run_id, body)
        return delivery

    @overload
    def first(self, connection: SyncConnection, delivery: Delivery) -> bool: ...
    @overload
    def first(self, connection: AsyncConnection, delivery: Delivery) -> Awaitable[bool]: ...
    def first(self, connection: Any, delivery: Delivery) -> Any:
        """Whether the run is still to have its effect: write it on the same connection, then commit.

        False: an earlier delivery was committed, or a later owner's. While another transaction has the run, this waits for its end.
        Raises Misused where no transaction would tie the receipt to the effect.
        """
        arguments = (delivery.run_id, delivery.token, self._clock.wall_ms())
        return run(
            connection, Statement(self._names.put_into(statements.TAKE), arguments, needs_transaction=True), _is_first
        )

    @overload
    def answer(self, connection: SyncConnection, delivery: Delivery, text: str) -> None: ...
    @overload
    def answer(self, connection: AsyncConnection, delivery: Delivery, text: str) -> Awaitable[None]: ...
    def answer(self, connection: Any, delivery: Delivery, text: str) -> Any:
        """Keep what the first delivery is answered with, in its transaction, so that later ones can be answered the same."""
        arguments = (text, delivery.run_id)
        return run(
            connection,
            Statement(self._names.put_into(statements.ANSWER), arguments, needs_transaction=True),
            _check_kept,
        )

    @overload
    def answered(self, connection: SyncConnection, delivery: Delivery) -> str | None: ...
    @overload
    def answered(self, connection: AsyncConnection, delivery: Delivery) -> Awaitable[str | None]: ...
    def answered(self, connection: Any, delivery: Delivery) -> Any:
        """What the first delivery of the run was answered with, if that was kept."""
        return run(connection, Statement(self._names.put_into(statements.ANSWERED), (delivery.run_id,)), _only_value)

    @overload
    def forget(self, connection: SyncConnection, *, older_than: timedelta) -> int: ...
    @overload
    def forget(self, connection: AsyncConnection, *, older_than: timedelta) -> Awaitable[int]: ...
    def forget(self, connection: Any, *, older_than: timedelta) -> Any:
        """Drop receipts of runs whose last delivery is longer ago; answers how many, at most 1,000. Call it until that is 0, and commit in
        between. A run that is delivered after its receipt was dropped has its effect again."""
        if older_than // _MILLISECOND < 2 * self._tolerance_ms:
            # A signature may be from the future by the tolerance, and is good for as long after its time.
            raise Invalid(("older_than", "must be twice the tolerance at least, or a call could be played again"))
        before_ms = self._clock.wall_ms() - older_than // _MILLISECOND
        arguments = (before_ms, limits.FORGET_BATCH, before_ms)
        return run(connection, Statement(self._names.put_into(statements.FORGET), arguments), len)

    def _check(self, found: Mapping[str, str], run_id: str, body: bytes) -> None:
        """That the run and the body are signed. The other headers are not, and decide nothing."""
        message_id = required(found, names.WEBHOOK_ID)
        signature = required(found, names.WEBHOOK_SIGNATURE)
        timestamp_s = number(found, names.WEBHOOK_TIMESTAMP)
        if message_id != run_id:
            raise MalformedHeader(names.RUN, "is not the run that was signed")
        if not is_signed(self._keys, message_id=run_id, timestamp_s=timestamp_s, body=body, signature=signature):
            raise WrongSignature
        late_ms = self._clock.wall_ms() - timestamp_s * 1000
        if abs(late_ms) > self._tolerance_ms:
            raise OutOfTime(late_s=late_ms / 1000)


def _is_first(rows: Rows) -> bool:
    return bool(rows[0][0] == 1)


def _check_kept(rows: Rows) -> None:
    if not rows:
        raise Misused("an answer is kept once, after `first` and in its transaction")


def _only_value(rows: Rows) -> Any:
    return rows[0][0] if rows else None
