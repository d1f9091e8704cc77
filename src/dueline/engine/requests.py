"""Carries out a request with a key once, however often it is sent: who sends it again gets the first answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from dueline.domain.errors import AskedBefore, DuelineError, Invalid, StoreUnavailable
from dueline.domain.requests import AskedRequest, KeptAnswer, RequestKey
from dueline.runtime.log import get_log
from dueline.store.requests import IN_HAND, InHand, RequestStore

log = get_log(__name__)

KEY_FIELD = "Idempotency-Key"
_PATIENCE_S = 2.0
"""How long somebody waits for the answer to the same request that another carries out."""
_PAUSE_S, _PAUSE_S_MAX = 0.01, 0.2
_LOST_MS = 3_000
"""An answer that is not there so long after what was asked for was done will not come: whoever had it to give is gone."""


class InProgress(DuelineError):
    """The same request is being carried out: ask again in a moment."""


class AnswerLost(DuelineError):
    """What was asked for was done, and whoever did it went away before the answer was kept: look at what it is about, if that is one
    thing."""

    def __init__(self, about: bytes) -> None:
        super().__init__("it was done, and its answer is lost: look at what there is")
        self.about = about


class Requests:
    def __init__(self, store: RequestStore) -> None:
        self._store = store

    async def once(
        self,
        key: RequestKey,
        carry_out: Callable[[], Awaitable[KeptAnswer]],
        *,
        repeatable: bool,
        shows_once: bool = False,
    ) -> tuple[KeptAnswer, bool]:
        """The answer, and whether it is one that was given before. What `carry_out` raises is raised, and not kept: the request may be sent
        again. What is `repeatable` may be done a second time where the first one was not answered; anything else is done once. Of an answer
        that `shows_once` what it shows is not kept.

        Raises Invalid for a key that came with something else, InProgress, and AnswerLost.
        """
        if await self._store.asked_before(key) is None:
            try:
                return await self._first(key, carry_out, repeatable=repeatable, shows_once=shows_once), False
            except AskedBefore:
                log.debug("asked twice at once", endpoint=key.endpoint)
        return await self._earlier(key), True

    async def _first(
        self,
        key: RequestKey,
        carry_out: Callable[[], Awaitable[KeptAnswer]],
        *,
        repeatable: bool,
        shows_once: bool,
    ) -> KeptAnswer:
        token = IN_HAND.set(None if repeatable else InHand(key))
        try:
            answer = await carry_out()
        finally:
            IN_HAND.reset(token)
        try:
            await self._store.keep_answer(key, KeptAnswer(answer.status, {}, b"") if shows_once else answer)
        except StoreUnavailable as error:
            # It is done, and its caller is there to hear so.
            log.warning("answer not kept", endpoint=key.endpoint, reason=str(error))
        return answer

    async def _earlier(self, key: RequestKey) -> KeptAnswer:
        pause_s = _PAUSE_S
        deadline_s = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            found = await self._store.asked_before(key)
            if found is not None and (answer := _answer(found, key)) is not None:
                return answer
            if asyncio.get_running_loop().time() >= deadline_s:
                raise InProgress("the same request is being carried out: ask again in a moment")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _PAUSE_S_MAX)


def _answer(found: AskedRequest, key: RequestKey) -> KeptAnswer | None:
    """Its answer, if it is there."""
    if found.digest != key.digest:
        raise Invalid((KEY_FIELD, "was sent with another request before: take a new key for a new request"))
    if found.answer is None and found.age_ms >= _LOST_MS:
        raise AnswerLost(found.about)
    return found.answer
