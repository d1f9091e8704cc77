"""A Django project whose jobs are declared in it: `manage.py sync_jobs` has Dueline know them, and a worker carries them out.

    python manage.py migrate
    dueline serve --app bookshop.tasks:app
    python manage.py sync_jobs          # with every deployment; a second time changes nothing
    python manage.py sync_jobs --dry-run

What is to run, and when, is in bookshop/jobs.py; what it does is in bookshop/tasks.py.
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bookshop.settings")
    execute_from_command_line(sys.argv)
