"""A FastAPI app that schedules its own webhooks: whoever signs up has a trial, and Dueline calls the app when it is over.

    dueline serve
    export TRIALS_SECRET=whsec_…    # what `dueline secret rotate` shows, once
    uvicorn trials_api:app --port 8701
    curl -d '{"email": "ada@example.com"}' -H 'Content-Type: application/json' http://127.0.0.1:8701/signups

Only calls that Dueline signed are taken, and a call that comes twice ends the trial once.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request, Response
from pydantic import BaseModel

from dueline import Client
from dueline.inbox import Delivery, Inbox, Rejected

DATABASE = os.environ.get("TRIALS_DATABASE", "trials.db")
URL = os.environ.get("TRIALS_URL", "http://127.0.0.1:8701")  # At which Dueline reaches this app.
TRIAL = timedelta(seconds=float(os.environ.get("TRIALS_LAST_S", 14 * 86_400)))
SCHEMA = """\
CREATE TABLE IF NOT EXISTS accounts (email TEXT PRIMARY KEY, plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS mails (email TEXT NOT NULL, text TEXT NOT NULL);
"""
TELL = "INSERT INTO mails (email, text) SELECT email, 'Your trial is over.' FROM accounts WHERE email = ? AND plan = 'trial'"

inbox = Inbox(secret=os.environ["TRIALS_SECRET"])
client = Client()  # One for all threads.


class Account(BaseModel):
    email: str
    plan: str = "trial"


class Customer(BaseModel):
    email: str


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    with closing(sqlite3.connect(DATABASE)) as db:
        db.executescript(inbox.schema)
        db.executescript(SCHEMA)
    yield
    client.close()


app = FastAPI(title="Trials", lifespan=lifespan)


def find(db: sqlite3.Connection, email: str) -> Account | None:
    row = db.execute("SELECT email, plan FROM accounts WHERE email = ?", (email,)).fetchone()
    return None if row is None else Account(email=row[0], plan=row[1])


@app.post("/signups", status_code=201)
def sign_up(asked: Customer, response: Response) -> Account:
    with closing(sqlite3.connect(DATABASE)) as db, db:
        if (there := find(db, asked.email)) is not None:
            response.status_code = 200
            return there
        # Asked for before the account is written: an end that finds no trial does no harm, a trial without an end would.
        client.runs.enqueue(
            url=f"{URL}/hooks/trial-ended",
            body={"email": asked.email},
            due_at=datetime.now(UTC) + TRIAL,
            retry={"max_attempts": 20, "cap": "1h"},
            dedupe_key=f"trial/{asked.email}",
            on_conflict="ignore",
        )
        account = Account(email=asked.email)
        db.execute(
            "INSERT INTO accounts (email, plan) VALUES (?, ?) ON CONFLICT DO NOTHING", (account.email, account.plan)
        )
    return account


@app.get("/accounts/{email}")
def account_of(email: str) -> Account:
    with closing(sqlite3.connect(DATABASE)) as db:
        account = find(db, email)
    if account is None:
        raise HTTPException(404, "there is no such account")
    return account


async def raw_body(request: Request) -> bytes:
    """The bytes as they arrived, which are what was signed."""
    return await request.body()


RawBody = Annotated[bytes, Depends(raw_body)]


def delivered(request: Request, body: RawBody) -> Delivery:
    """What Dueline delivers; 401 for a call of anybody else."""
    try:
        return inbox.receive(request.headers, body)
    except Rejected as error:
        raise HTTPException(401, str(error)) from None


@app.post("/hooks/trial-ended")
def end_trial(delivery: Annotated[Delivery, Depends(delivered)], body: RawBody) -> Account | None:
    customer = Customer.model_validate_json(body)
    # One transaction: the receipt and what it stands for are both there, or neither.
    with closing(sqlite3.connect(DATABASE)) as db, db:
        if inbox.first(db, delivery):
            db.execute(TELL, (customer.email,))
            db.execute("UPDATE accounts SET plan = 'free' WHERE email = ? AND plan = 'trial'", (customer.email,))
        return find(db, customer.email)
