"""As little of Django as a project can do with."""

import os
from pathlib import Path

SECRET_KEY = os.environ.get("BOOKSHOP_SECRET_KEY", "for development only")
INSTALLED_APPS = ["django.contrib.sessions", "bookshop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("BOOKSHOP_DATABASE", Path(__file__).parents[1] / "bookshop.db"),
    }
}
USE_TZ = True
