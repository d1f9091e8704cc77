"""The problems that there are, each with an example, and the answers that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dueline.api.problems import PROBLEM_JSON, TITLES, TYPE_PREFIX

_REQUEST_ID = "5f0c9c1e6b1d4c629d0f"


class Refusal(NamedTuple):
    """A problem by the end of its `type`, with what to do about it."""

    status: int
    advice: str
    detail: str
    members: Mapping[str, Any] = {}
    headers: tuple[str, ...] = ()


REFUSALS: Mapping[str, Refusal] = {
    "unreadable": Refusal(400, "Send JSON.", "the body is not JSON: JSON is malformed: expected ':' (byte 9)"),
    "bad-header": Refusal(
        400,
        "Correct the header that `detail` names, or leave it out.",
        "If-Match must be one entity tag in double quotes, as the ETag of a job has it, or *.",
    ),
    "unauthorized": Refusal(
        401,
        "Send a key that is known, and neither revoked nor expired, as `Authorization: Bearer KEY`.",
        "This needs an API key. Send it as `Authorization: Bearer KEY`.",
        headers=("WWW-Authenticate",),
    ),
    "forbidden": Refusal(
        403,
        "Use a key with the role that `detail` names, or one of the tenant `default` for what all tenants share.",
        "This needs a key with the role operator; the role of this one is writer.",
    ),
    "not-found": Refusal(404, "There is nothing by that name or id.", "no job job_01h455vb4pex5vsknk084sn02q"),
    "body-too-slow": Refusal(408, "Send the body within 30 s.", "The body did not arrive within 30 s."),
    "conflict": Refusal(
        409,
        "Read it again: its state does not allow this, or the name is taken.",
        "the name 'daily-report' is taken",
        {"errors": [{"field": "name", "reason": "'daily-report' is taken"}]},
    ),
    "in-progress": Refusal(
        409,
        "Send it again in a moment: the same request, with the same key, is being carried out.",
        "the same request is being carried out",
        headers=("Retry-After",),
    ),
    "answer-lost": Refusal(
        409,
        "Look at what there is: the request with this key was carried out, and its answer is lost.",
        "It was done, and its answer is lost: look at what there is.",
    ),
    "shown-once": Refusal(
        409,
        "Look at what there is: the request with this key was carried out, and what it showed is not kept.",
        "It was done before, and what was shown then is not kept: look at what there is.",
    ),
    "lease-lost": Refusal(
        409, "Register again: the worker is not registered, or was declared dead.", "the worker is not registered"
    ),
    "version-mismatch": Refusal(
        412,
        "Read the job again: somebody changed it first, or `If-None-Match` was sent and it is there.",
        "the job is at version 4, not 3",
    ),
    "too-large": Refusal(413, "Send less at a time.", "A body may have 33554432 bytes."),
    "unsupported-media-type": Refusal(
        415, "Send `application/json`, or no content type.", "The body must be application/json in UTF-8."
    ),
    "invalid": Refusal(
        422,
        "Correct the fields in `errors`.",
        "2 fields need correction.",
        {
            "errors": [
                {"field": "schedule.cron", "reason": "'0 0 31 2 *' never fires"},
                {"field": "target.url", "reason": "must begin with http:// or https://"},
            ]
        },
    ),
    "over-quota": Refusal(
        429,
        "Make room, wait as long as `Retry-After` says where it is told, or have the quota raised. Nothing was done.",
        "the tenant may have 1000 jobs, and has 1000",
        {"quota": "jobs", "limit": 1000, "used": 1000},
        ("Retry-After", "RateLimit-Policy", "RateLimit"),
    ),
    "internal": Refusal(
        500, "Report it; the server's log says where it broke.", "Something broke; the log of the server has it."
    ),
    "unavailable": Refusal(
        503,
        "Try again after `Retry-After`; whether a write took effect is unknown, so read first.",
        "The store cannot be reached; whether a write took effect is unknown.",
        headers=("Retry-After",),
    ),
}


def refusals_by_status(slugs: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Problems by the status that they come with, both in the order of the table."""
    asked, found = set(slugs), dict[int, tuple[str, ...]]()
    for slug, refusal in REFUSALS.items():
        if slug in asked:
            found[refusal.status] = (*found.get(refusal.status, ()), slug)
    return found


def answer_name(slugs: tuple[str, ...]) -> str:
    """What the answer is called among the components."""
    return ".".join(slugs)


def refusing_answer(slugs: tuple[str, ...]) -> dict[str, Any]:
    """The answer with one of several problems that share a status."""
    headers = dict.fromkeys(("X-Request-Id", *(name for slug in slugs for name in REFUSALS[slug].headers)))
    return {
        "description": "\n".join(f"`{slug}`: {REFUSALS[slug].advice}" for slug in slugs),
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
        "content": {
            PROBLEM_JSON: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {slug: {"value": _example(slug)} for slug in slugs},
            }
        },
    }


def _example(slug: str) -> dict[str, Any]:
    refusal = REFUSALS[slug]
    return {
        "type": TYPE_PREFIX + slug,
        "title": TITLES[refusal.status],
        "status": refusal.status,
        "detail": refusal.detail,
        "instance": "/v1/jobs",
        **refusal.members,
        "request_id": _REQUEST_ID,
    }
