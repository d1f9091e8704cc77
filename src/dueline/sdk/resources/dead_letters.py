"""Dead letters: failed runs that nobody has dealt with yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from dueline.sdk.arguments import Instant, to_plain, to_text, without_none
from dueline.sdk.calls import Call
from dueline.sdk.endpoints import D, Resource, endpoint, listing

if TYPE_CHECKING:
    from dueline.wire.deadletters import BulkRedriveView, DeadLetterView, PurgeView
    from dueline.wire.pages import Page
    from dueline.wire.runs import RunView
    from dueline.wire.targets import TargetView


class MatchFields(TypedDict, total=False):
    """Which dead letters; what is left out matches all. `from_` and `to`: failed at or after, and before."""

    job_id: str | None
    queue: str | None
    reason: str | None
    from_: Instant | None
    to: Instant | None


class DeadLetters(Resource[D]):
    """Trying a dead letter again or putting it aside deals with it; the run itself stays in the history."""

    @listing("GET /v1/dead-letters")
    def list(self, *, page_size: int | None = None, **match: Unpack[MatchFields]) -> Call[Page[DeadLetterView]]:
        """List dead letters, latest scheduled first."""
        return Call(query={**_matching(match), "limit": page_size})

    @endpoint("GET /v1/dead-letters/{id}")
    def get(self, run_id: str) -> Call[DeadLetterView]:
        """Get a dead letter by the id of its run, with what was executed."""
        return Call((run_id,))

    @endpoint("POST /v1/dead-letters/{id}/redrive")
    def redrive(
        self,
        run_id: str,
        *,
        key: str | None = None,
        version: str | None = None,
        target: Mapping[str, Any] | TargetView | None = None,
        idempotency_key: str | None = None,
    ) -> Call[RunView]:
        """Try one again; answers the new run. `version="latest"` takes the job as it is now, `target` is called in place of the one
        that failed. The same `key` always answers the same run."""
        body = without_none(to_plain({"key": key, "version": version, "target": target}))
        return Call((run_id,), body=body, idempotency_key=idempotency_key)

    @endpoint("POST /v1/dead-letters/redrive", repeatable=True)
    def redrive_many(
        self,
        *,
        rate: float | None = None,
        start_at: Instant | None = None,
        version: str | None = None,
        key: str | None = None,
        dry_run: bool = False,
        **match: Unpack[MatchFields],
    ) -> Call[BulkRedriveView]:
        """Try again those that match, as many as one call takes. Call again until `left` is 0, with its `next_due_at` as `start_at`,
        so that all of them keep one pace."""
        said = {"rate": rate, "start_at": to_text(start_at, "start_at"), "version": version, "key": key}
        body = {**without_none({**_matching(match), **said}), "dry_run": dry_run}
        return Call(body=body)

    @endpoint("POST /v1/dead-letters/purge", repeatable=True)
    def purge(self, **match: Unpack[MatchFields]) -> Call[PurgeView]:
        """Put aside those that match, as many as one call takes. Call again until `purged` is 0."""
        return Call(body=without_none(_matching(match)))

    @endpoint("DELETE /v1/dead-letters/{id}")
    def delete(self, run_id: str) -> Call[None]:
        """Put one aside. NotFound when it is none, or was dealt with already."""
        return Call((run_id,))


def _matching(match: Mapping[str, Any]) -> dict[str, Any]:
    """All filters by the names that the API has. One that is not known here goes with them, for the server to refuse: left out, it would
    match everything."""
    said = {**dict.fromkeys(MatchFields.__annotations__), **to_plain(match)}
    return {name.removesuffix("_"): value for name, value in said.items()}
