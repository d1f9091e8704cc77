"""The jobs of the bookshop, each as `POST /v1/jobs` takes it. `manage.py sync_jobs` brings them to Dueline."""

from typing import Any

OWNER = "owner:bookshop"
"""The tag by which these jobs are known again; `dueline export --owner bookshop` shows them."""

JOBS: list[dict[str, Any]] = [
    {
        "name": "bookshop: clear sessions",
        "schedule": "every day at 4:00 Europe/Berlin",
        "target": {"task": "clear-sessions"},
        "timeout": "10m",
    },
    {
        "name": "bookshop: check",
        "schedule": "every hour",
        "target": {"task": "command", "args": {"name": "check"}},
    },
]
