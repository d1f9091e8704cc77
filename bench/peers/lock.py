"""Takes out of a lock file of npm what tells of places: where packages were fetched from, and where their authors ask for money."""

import json
import sys
from pathlib import Path

PLACES = ("resolved", "funding")


def main() -> None:
    lock = Path(sys.argv[1])
    locked = json.loads(lock.read_text())
    for package in locked["packages"].values():
        for place in PLACES:
            package.pop(place, None)
    lock.write_text(json.dumps(locked, indent=2) + "\n")


main()
