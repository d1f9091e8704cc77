"""What a worker carries out for the bookshop, with all of Django at hand: `dueline serve --app bookshop.tasks:app`."""

import os

import django
from django.core.management import call_command
from django.db import close_old_connections

from dueline import App

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookshop.settings")
django.setup()

app = App("bookshop")


@app.task(name="clear-sessions")
def clear_sessions() -> None:
    """Forget the sessions that have expired."""
    run_command("clearsessions")


@app.task(name="command")
def run_command(name: str) -> None:
    """Run a command of manage.py. Outside of a request nobody else lets go of connections that the database has closed."""
    close_old_connections()
    try:
        call_command(name)
    finally:
        close_old_connections()
