"""The runs of a call for many of them: what they have in common is checked for the first that says it, and what is its own for each."""

from __future__ import annotations

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dueline.wire.bulk import item_problems, read_item
from dueline.wire.dedupe import to_dedupe
from dueline.wire.labels import check_fairness_key
from dueline.wire.reading import decoder_of
from dueline.wire.runs import AdhocInput, AdhocSpec, read_due, to_spec
from dueline.wire.targets import TargetForm, target_like

_PATTERNS_MAX = 16
"""With how many a run is compared: a call of which no two are alike must not take much longer for it."""
_decoder = decoder_of(AdhocInput)


class ManyRuns:
    """Reads the runs of one call."""

    def __init__(self, *, now_ms: int, payload_bytes_max: int) -> None:
        self._now_ms = now_ms
        self._payload_bytes_max = payload_bytes_max
        self._patterns: list[tuple[AdhocInput, TargetForm, AdhocSpec]] = []
        self._problems = item_problems()
        self._due_ms: dict[str, int] = {}

    def read(self, raw: msgspec.Raw) -> AdhocSpec:
        """The run that is asked for. Raises Invalid with all that is wrong with it, as if it were all that was sent."""
        try:
            form = _decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return self._explained(raw)
        blank = replace(form, target=UNSET, fairness_key="", due_at=None, dedupe_key=None)
        blank_target = replace(form.target, url=UNSET, body=None, args=UNSET)
        for its_blank, its_blank_target, pattern in self._patterns:
            if its_blank == blank and its_blank_target == blank_target:
                return self._like(pattern, form) or self._explained(raw)
        spec = self._explained(raw)
        # Whether the key of a limit can be filled depends on the payload, and whether there may be one on its bytes.
        lone = form.concurrency is not None or form.rate is not None or form.target.body_base64 is not None
        if not lone and len(self._patterns) < _PATTERNS_MAX:
            self._patterns.append((blank, blank_target, spec))
        return spec

    def _like(self, pattern: AdhocSpec, form: AdhocInput) -> AdhocSpec | None:
        """None where something is wrong."""
        assert form.target is not UNSET, "it was read without a problem"
        problems, bytes_max = self._problems, self._payload_bytes_max
        target = target_like(pattern.execution.target, form.target, problems, payload_bytes_max=bytes_max)
        if form.fairness_key:
            check_fairness_key(form.fairness_key, problems)
        due_ms = dedupe = None
        if form.due_at is not None:
            due_ms = self._read_due(form.due_at)
        if form.dedupe_key is not None or pattern.dedupe is not None:
            dedupe = to_dedupe(form, problems)
        if target is None or problems.any:
            self._problems = item_problems()
            return None
        execution = replace(pattern.execution, target=target)
        return replace(pattern, execution=execution, fairness_key=form.fairness_key, due_ms=due_ms, dedupe=dedupe)

    def _read_due(self, text: str) -> int | None:
        due_ms = self._due_ms.get(text)
        if due_ms is None:
            due_ms = read_due(text, self._problems, now_ms=self._now_ms)
            if due_ms is not None and not self._problems.any:
                self._due_ms[text] = due_ms
        return due_ms

    def _explained(self, raw: msgspec.Raw) -> AdhocSpec:
        problems = item_problems()
        form = read_item(raw, AdhocInput, problems)
        spec = to_spec(form, problems, now_ms=self._now_ms, payload_bytes_max=self._payload_bytes_max)
        problems.raise_any()
        return spec
