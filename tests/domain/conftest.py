"""Properties try the same examples on every machine and every day: a red test stays red until somebody mends it."""

from hypothesis import settings

settings.register_profile("dueline", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("dueline")
