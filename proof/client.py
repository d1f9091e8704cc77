"""The client: it asks for things by plain HTTP, and writes down of each what it was told, or that it was told nothing."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from proof.records import Answered, Call

TIMEOUT_S = 10.0
LOOKED_AT = 20
"""Ended runs that one look remembers."""


class Client:
    """Knows one address, at which an API is or will be again. What it creates it names by markers of its own."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
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
        sent_s = time.time()
        answered, status, told = self.ask("POST", f"/v1/jobs/{self.job_ids[marker]}/run")
        self._note(
            Call(
                operation="run_now",
                sent_s=sent_s,
                answered_s=time.time(),
                answered=answered,
                status=status,
                marker=marker,
                id=told["id"] if answered is Answered.ACKNOWLEDGED else None,
            )
        )

    def act(self, operation: str, marker: str) -> Answered:
        """Pause, resume or delete a job."""
        job_id = self.job_ids[marker]
        sent_s = time.time()
        if operation == "delete":
            answered, status, _ = self.ask("DELETE", f"/v1/jobs/{job_id}")
        else:
            answered, status, _ = self.ask("POST", f"/v1/jobs/{job_id}/{operation}")
        self._note(
            Call(
                operation=operation,
                sent_s=sent_s,
                answered_s=time.time(),
                answered=answered,
                status=status,
                marker=marker,
                id=job_id,
            )
        )
        return answered

    def look(self, state: str) -> None:
        """Remember some runs that have ended, as they are told now."""
        sent_s = time.time()
        answered, status, told = self.ask("GET", f"/v1/runs?state={state}&limit={LOOKED_AT}")
        for run in told["items"] if answered is Answered.ACKNOWLEDGED else []:
            self._note(
                Call(
                    operation="look",
                    sent_s=sent_s,
                    answered_s=time.time(),
                    answered=answered,
                    status=status,
                    id=run["id"],
                    seen={"state": run["state"], "finished_at": run["finished_at"]},
                )
            )

    def ask(self, method: str, path: str, body: object = None) -> tuple[Answered, int | None, Any]:
        return self.ask_at(self.url, method, path, body)

    @staticmethod
    def ask_at(url: str, method: str, path: str, body: object = None) -> tuple[Answered, int | None, Any]:
        """One request, on a connection of its own and never repeated; what it brought, and the answer where there is one."""
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=TIMEOUT_S)
        try:
            connection.connect()
        except OSError:
            return Answered.REFUSED, None, None
        try:
            connection.request(method, path, None if body is None else msgspec.json.encode(body))
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
        sent_s = time.time()
        answered, status, told = self.ask("POST", path, asked)
        created = told["id"] if answered is Answered.ACKNOWLEDGED else None
        self._note_new(operation, asked, sent_s, answered, status, created)

    def _write_many(self, operation: str, path: str, member: str, asked: Sequence[dict[str, Any]]) -> None:
        sent_s = time.time()
        answered, status, told = self.ask("POST", path, {member: asked})
        if answered is not Answered.ACKNOWLEDGED:
            for one in asked:
                self._note_new(operation, one, sent_s, answered, status, None)
            return
        for one, item in zip(asked, told["items"], strict=True):
            is_there = item["status"] == 201
            created = item[member.removesuffix("s")]["id"] if is_there else None
            item_answered = Answered.ACKNOWLEDGED if is_there else Answered.REFUSED
            self._note_new(operation, one, sent_s, item_answered, item["status"], created)

    def _note_new(
        self,
        operation: str,
        asked: dict[str, Any],
        sent_s: float,
        answered: Answered,
        status: int | None,
        created: str | None,
    ) -> None:
        marker = asked["tags"][0]
        if operation == "create" and created is not None:
            self.job_ids[marker] = created
        self._note(
            Call(
                operation=operation,
                sent_s=sent_s,
                answered_s=time.time(),
                answered=answered,
                status=status,
                marker=marker,
                id=created,
                asked=asked,
            )
        )

    def _note(self, call: Call) -> None:
        self._log.write(msgspec.json.encode(call) + b"\n")
        self._log.flush()
