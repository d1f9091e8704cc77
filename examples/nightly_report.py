"""A nightly report: what was sold on the day before, one row a day.

    export SHOP_DATABASE=shop.db
    dueline serve --app nightly_report:app    # carries it out
    python nightly_report.py                  # schedules it; a second time changes nothing

For the days before that: dueline job backfill ID --from 2026-03-01T00:00:00Z --to 2026-03-08T00:00:00Z
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from dueline import App, Context
from dueline.sdk.errors import Conflict

ZONE = "Europe/Berlin"
SCHEMA = """\
CREATE TABLE IF NOT EXISTS orders (sold_s REAL NOT NULL, cents INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS reports (day TEXT PRIMARY KEY, orders INTEGER NOT NULL, cents INTEGER NOT NULL);
"""
COUNT = "SELECT count(*), coalesce(sum(cents), 0) FROM orders WHERE sold_s >= ? AND sold_s < ?"
# Whoever comes twice for a day writes the same row again.
WRITE = """\
INSERT INTO reports (day, orders, cents) VALUES (?, ?, ?)
ON CONFLICT (day) DO UPDATE SET orders = excluded.orders, cents = excluded.cents
"""

app = App("shop")


@app.task(name="nightly-report", timeout="10m", retry={"max_attempts": 5, "base": "1m"})
def nightly_report(ctx: Context) -> dict[str, str | int]:
    """Report the day before the one that the schedule means, so that a late, repeated or backfilled run has its own day."""
    zone = ZoneInfo(ZONE)
    today = ctx.scheduled_at.astimezone(zone).date()
    day = today - timedelta(days=1)
    begin, end = (datetime.combine(date, time(), zone).timestamp() for date in (day, today))
    with closing(sqlite3.connect(os.environ["SHOP_DATABASE"])) as db, db:
        db.executescript(SCHEMA)
        orders, cents = db.execute(COUNT, (begin, end)).fetchone()
        db.execute(WRITE, (day.isoformat(), orders, cents))
    return {"day": day.isoformat(), "orders": orders, "cents": cents}


def main() -> None:
    try:
        job = nightly_report.schedule("every day at 2:30", timezone=ZONE, name="nightly-report")
    except Conflict:
        print("It is scheduled already.")
    else:
        print(f"{job['id']} reports for the first time at {job['next_due_at']}.")
    finally:
        app.close()


if __name__ == "__main__":
    main()
