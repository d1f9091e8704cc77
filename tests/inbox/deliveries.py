"""Deliveries as a worker sends them."""

from dueline.domain.ids import JobId, RunId, job_text, new_run_id, run_text
from dueline.domain.instants import to_datetime
from dueline.domain.job import Execution, HttpTarget
from dueline.domain.signing import new_secret
from dueline.domain.states import RunKind
from dueline.engine.execution.calls import make_call, prepare_call
from dueline.inbox import Delivery
from dueline.store.shapes import Claim

KEY = b"k" * 32
OLD_KEY = b"o" * 32
SECRET = new_secret(KEY)
NOW_MS = 1_767_225_600_000
JOB_ID = JobId(bytes.fromhex("01890a5dac96774bbcceb302099a8058"))
BODY = '{"item":"käse"}'


def a_run(number: int = 1) -> RunId:
    return new_run_id(NOW_MS, number.to_bytes(10, "big"))


def sent(
    *keys: bytes,
    run_id: RunId | None = None,
    job_id: JobId | None = JOB_ID,
    attempt: int = 1,
    token: int = 1,
    body: str = BODY,
    now_ms: int = NOW_MS,
) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the body of a call, made and signed by the worker's own code."""
    claim = Claim(
        run_id=a_run() if run_id is None else run_id,
        token=token,
        job_id=job_id,
        version=None if job_id is None else 1,
        tenant="acme",
        kind=RunKind.SCHEDULED,
        scheduled_ms=NOW_MS,
        due_ms=NOW_MS,
        claimed_ms=NOW_MS,
        attempt=attempt,
        lost=0,
        exclusive=False,
        spec=None,
    )
    prepared = prepare_call(Execution(target=HttpTarget(url="http://shop.test/", body=body)))
    call = make_call(prepared, claim, run_text(claim.run_id), now_ms=now_ms, keys=keys)
    pairs = [(name, value) for name, _, value in [line.partition(": ") for line in call.header_lines()]]
    return pairs, call.body or b""


def a_delivery(number: int = 1, *, token: int = 1, attempt: int = 1) -> Delivery:
    return Delivery(
        run_id=run_text(a_run(number)),
        token=token,
        attempt=attempt,
        scheduled_at=to_datetime(NOW_MS),
        tenant="acme",
        job_id=job_text(JOB_ID),
    )
