"""python -m proof.checker FOLDER: judge what was written down there, print the verdict, and leave it beside the logs."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from proof import records
from proof.checker.evidence import read_evidence
from proof.checker.picture import picture
from proof.checker.verdict import judge, page


def main(folder: Path) -> int:
    evidence = read_evidence(folder)
    verdict = judge(evidence)
    told = page(verdict)
    (folder / records.VERDICT).write_bytes(msgspec.json.format(msgspec.json.encode(verdict), indent=2))
    (folder / records.PAGE).write_text(told)
    (folder / records.PICTURE).write_text(picture(evidence))
    print(told, end="")
    return 0 if verdict.is_green else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
