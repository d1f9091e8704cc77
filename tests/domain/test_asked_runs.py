"""Runs that people ask for: many at once are what each would be alone."""

from itertools import product

import msgspec

from dueline.domain.asked_runs import AdhocRun, adhoc_runs
from dueline.domain.ids import RunId
from dueline.domain.job import Execution, HttpTarget, Notify, TaskTarget
from dueline.domain.states import RunState

CALL = Execution(target=HttpTarget(url="https://example.com/"))
NOTIFY = Notify(url="https://example.com/told", on=(RunState.FAILED,))
EXECUTIONS = [
    CALL,
    msgspec.structs.replace(CALL, target=HttpTarget(url="https://example.com/2", body={"n": 2})),
    msgspec.structs.replace(CALL, target=TaskTarget(task="send")),
    msgspec.structs.replace(CALL, requires=("gpu",)),
    msgspec.structs.replace(CALL, timeout_ms=7_000),
    msgspec.structs.replace(CALL, expires_after_ms=5_000),
    msgspec.structs.replace(CALL, notify=NOTIFY),
]
PLAIN = AdhocRun(execution=CALL)
ASKED = [
    *(AdhocRun(execution=execution) for execution in EXECUTIONS),
    msgspec.structs.replace(PLAIN, queue="mail"),
    msgspec.structs.replace(PLAIN, priority=7),
    msgspec.structs.replace(PLAIN, fairness_key="ada"),
    msgspec.structs.replace(PLAIN, region="eu"),
    msgspec.structs.replace(PLAIN, tags=("a",)),
]


def test_a_run_does_not_depend_on_the_one_before_it() -> None:
    for first, second in product(ASKED, ASKED):
        ids = [RunId(b"1" * 16), RunId(b"2" * 16)]
        together = adhoc_runs("acme", [first, second], ids, [5, 6])
        assert together[:1] == adhoc_runs("acme", [first], ids[:1], [5])
        assert together[1:] == adhoc_runs("acme", [second], ids[1:], [6])
