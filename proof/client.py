"""The client: it asks for things by plain HTTP, and writes down of each what it was told, or that it was told nothing."""

from __future__ import annotations

import http.client
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from proof.records import Answered, Call
from tests.support.keys import ADMIN_KEY, AUTHORIZED

TIMEOUT_S = 10.0
LOOKED_AT = 20
"""Ended runs that one look remembers."""


class _Said(NamedTuple):
    """A call and what it brought."""

    sent_s: float
    answered_s: float
    answered: Answered
    status: int | None
    told: Any

    @property
    def created(self) -> str | None:
        return str(self.told["id"]) if self.answered is Answered.ACKNOWLEDGED else None

    def of_item(self, item: dict[str, Any], noun: str) -> Self:
        """What a bulk call brought for one of its items."""
        answered = Answered.ACKNOWLEDGED if item["status"] == 201 else Answered.REFUSED
        return self._replace(answered=answered, status=item["status"], told=item.get(noun))


class Client:
    """Knows one address, at which an API is or will be again. What it creates it names by markers of its own."""

    def __init__(self, url: str, log: Path, *, key: str = ADMIN_KEY) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {key}"}
        self._log = log.open("ab")
        self.job_ids: dict[str, str] = {}
        """The jobs whose creation was acknowledged, by their markers."""

    def create(self, asked: dict[str, Any]) -> None:
        self._write("create", "/v1/jobs", asked)

    def create_many(self, asked: Sequence[dict[str, Any]]) -> None:
        self._write_many("create", "/v1/jobs/bulk", "jobs", asked)

    def adhoc(self, asked: dict[str, Any]) -> None:
        self._write("adhoc", "/v1/runs", asked)

    def adhoc_many(self, asked: Sequence[dict[str, Any]]) -> None:
        self._write_many("adhoc", "/v1/runs/bulk", "runs", asked)

    def run_now(self, marker: str) -> None:
        said = self._say("POST", f"/v1/jobs/{self.job_ids[marker]}/run")
        self._note("run_now", said, marker=marker, id=said.created)

    def act(self, operation: str, marker: str) -> Answered:
        """Pause, resume or delete a job."""
        job_id = self.job_ids[marker]
        if operation == "delete":
            said = self._say("DELETE", f"/v1/jobs/{job_id}")
        else:
            said = self._say("POST", f"/v1/jobs/{job_id}/{operation}")
        self._note(operation, said, marker=marker, id=job_id)
        return said.answered

    def look(self, state: str) -> None:
        """Remember some runs that have ended, as they are told now."""
        said = self._say("GET", f"/v1/runs?state={state}&limit={LOOKED_AT}")
        for run in said.told["items"] if said.answered is Answered.ACKNOWLEDGED else []:
            self._note("look", said, id=run["id"], seen={"state": run["state"], "finished_at": run["finished_at"]})

    def ask(self, method: str, path: str, body: object = None) -> tuple[Answered, int | None, Any]:
        return self.ask_at(self.url, method, path, body, self._headers)

    @staticmethod
    def ask_at(
        url: str, method: str, path: str, body: object = None, headers: Mapping[str, str] = AUTHORIZED
    ) -> tuple[Answered, int | None, Any]:
        """One request, on a connection of its own and never repeated; what it brought, and the answer where there is one."""
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=TIMEOUT_S)
        try:
            connection.connect()
        except OSError:
            return Answered.REFUSED, None, None
        try:
            connection.request(method, path, None if body is None else msgspec.json.encode(body), dict(headers))
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            return Answered.UNKNOWN, None, None
        finally:
            connection.close()
        if answer.status >= 500:
            return Answered.UNKNOWN, answer.status, None
        answered = Answered.ACKNOWLEDGED if answer.status < 300 else Answered.REFUSED
        return answered, answer.status, msgspec.json.decode(text) if text[:1] in (b"{", b"[") else text

    def close(self) -> None:
        self._log.close()

    def _write(self, operation: str, path: str, asked: dict[str, Any]) -> None:
        self._note_new(operation, asked, self._say("POST", path, asked))

    def _write_many(self, operation: str, path: str, member: str, asked: Sequence[dict[str, Any]]) -> None:
        said = self._say("POST", path, {member: asked})
        if said.answered is not Answered.ACKNOWLEDGED:
            for one in asked:
                self._note_new(operation, one, said)
            return
        for one, item in zip(asked, said.told["items"], strict=True):
            self._note_new(operation, one, said.of_item(item, member.removesuffix("s")))

    def _note_new(self, operation: str, asked: dict[str, Any], said: _Said) -> None:
        marker = asked["tags"][0]
        if operation == "create" and said.created is not None:
            self.job_ids[marker] = said.created
        self._note(operation, said, marker=marker, id=said.created, asked=asked)

    def _say(self, method: str, path: str, body: object = None) -> _Said:
        sent_s = time.time()
        answered, status, told = self.ask(method, path, body)
        return _Said(sent_s, time.time(), answered, status, told)

    def _note(self, operation: str, said: _Said, **members: Any) -> None:
        call = Call(
            operation=operation,
            sent_s=said.sent_s,
            answered_s=said.answered_s,
            answered=said.answered,
            status=said.status,
            **members,
        )
        self._log.write(msgspec.json.encode(call) + b"\n")
        self._log.flush()
