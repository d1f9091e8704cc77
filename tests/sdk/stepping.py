"""The steps of calls, taken by hand on a clock that stands still."""

from typing import Any

from dueline.runtime.clock import ManualClock
from dueline.sdk.answers import Answer
from dueline.sdk.calls import Call, Request
from dueline.sdk.errors import Unreachable
from dueline.sdk.flows import Pause, Send, Steps, Terms, call_steps
from dueline.sdk.retries import RetryPolicy
from dueline.wire.health import Health

HALF = 0.5


class FixedChance:
    def entropy(self, ids: int = 1) -> bytes:
        return bytes(10 * ids)

    def fraction(self) -> float:
        return HALF


class Calls:
    """Calls of one client whose server says what the test wants; every pause moves the clock."""

    def __init__(self, policy: RetryPolicy | None = None, *, timeout_s: float = 30.0) -> None:
        self.clock = ManualClock()
        self.pauses_s: list[float] = []
        self.sent: list[Request] = []
        self.left_s: list[float] = []
        self.terms = Terms(
            api_key=None,
            timeout_s=timeout_s,
            retry=policy or RetryPolicy(attempts_max=4, base_s=1.0, cap_s=3.0),
            clock=self.clock,
            chance=FixedChance(),
        )

    def make(self, method: str, *told: Answer | Unreachable, **fields: Any) -> Health:
        return self.take(call_steps(Call(kind=lambda: Health, method=method, path="/x", **fields), self.terms), *told)

    def take(self, steps: Steps[Health], *told: Answer | Unreachable) -> Health:
        """Answer each request with what is told, in order; nothing of it may be left over."""
        rest = [*told]
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    self.pauses_s.append(step.for_s)
                    self.clock.advance(step.for_s)
                    step = next(steps)
                    continue
                assert isinstance(step, Send)
                self.sent.append(step.request)
                self.left_s.append(step.timeout_s)
                answer = rest.pop(0)
                step = steps.throw(answer) if isinstance(answer, Unreachable) else steps.send(answer)
        except StopIteration as ended:
            health: Health = ended.value
            return health
        finally:
            assert rest == []
