"""The checks that mutants are tried against: which finds what is for each mutant to say."""

from __future__ import annotations

from proof.mutants.checks import Scene, Seeds, Suite

SIMULATION = Seeds(20)
MODEL = Suite("model", ("tests/model",))
AT_ONCE = Suite(
    "stores at once", ("tests/conformance/test_concurrency.py::test_twenty_claimers_share_two_thousand_runs",)
)
TURNS = Suite("turns", ("tests/conformance/test_fairness.py",))
OVERLAPS = Suite("overlaps", ("tests/conformance/test_overlap.py",))
KEYS = Suite("keys", ("tests/conformance/test_unique.py",))
LATE_ANSWERS = Suite("late answers", ("tests/engine/test_late_answers.py", "tests/worker/test_starting.py"))
FAILING_CALLS = Suite(
    "failing calls",
    ("tests/engine/test_store_failures.py::test_a_call_that_fails_loses_nothing[sqlite-claim-1-after]",),
)
OUTCOMES = Suite("outcomes", ("tests/engine/execution/test_outcomes.py",))
PLANNING = Suite("planning", ("tests/domain/test_planning.py",))
DECISIONS = Suite("decisions", ("tests/engine/test_reaper_decisions.py", "tests/domain/test_retry.py"))
LEASES = Suite("leases", ("tests/domain/test_leases.py",))
CANCELS = Suite("cancels", ("tests/engine/test_cancel_previous.py",))
LOOKS = Suite("looks", ("tests/worker/test_hints.py",))
CALLS = Suite(
    "calls", ("tests/worker/executors/test_http.py::test_a_request_is_not_sent_again_when_a_kept_connection_ends",)
)
PLAIN_CALLS = Suite("plain calls", ("tests/worker/executors/test_plain.py",))
DRAINS = Suite(
    "drains", ("tests/worker/test_draining.py::test_what_was_claimed_ahead_goes_back_as_if_it_had_never_been_claimed",)
)
POWER = Suite("power cuts", ("tests/proof/tools/test_power.py::test_our_embedded_store_loses_nothing",), long=True)
BASELINE = Scene("baseline", 15.0)
