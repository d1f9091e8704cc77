"""`python -m dueline`."""

from __future__ import annotations

from dueline.cli.main import main

main()
