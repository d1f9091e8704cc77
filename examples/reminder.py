"""A reminder: when it is time, Dueline posts your text to the incoming webhook of your chat. Nothing of yours has to run then.

dueline serve
export REMINDER_URL=https://chat.example/hooks/abc
python reminder.py "in 20 minutes" "Take the bread out of the oven"
python reminder.py "every friday at 16:00" "Write down your hours" --timezone Europe/Berlin
"""

from __future__ import annotations

import argparse
import os
import sys

from dueline import Client
from dueline.sdk.errors import DuelineError


def remind(client: Client, when: str, text: str, *, timezone: str) -> str:
    """Ask for a reminder; answers what was understood, and how to take it back."""
    understood = client.schedules.preview(when, timezone=timezone)
    job = client.jobs.create(
        url=os.environ["REMINDER_URL"],
        body={"text": text},
        schedule=when,
        timezone=timezone,
        retry={"max_attempts": 10},
        misfire={"window": "1d"},  # After an outage it comes late rather than not at all.
        tags=["reminder"],
    )
    return f"{understood.description}. Take it back with: dueline job delete {job.id}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("when", help='such as "in 2 hours", "tomorrow at 9:00" or "2026-12-24T18:00:00Z"')
    parser.add_argument("text")
    parser.add_argument("--timezone", default="UTC")
    arguments = parser.parse_args()
    try:
        with Client() as client:
            print(remind(client, arguments.when, arguments.text, timezone=arguments.timezone))
    except DuelineError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
