"""All mutants."""

from __future__ import annotations

from proof.mutants.building import Mutant
from proof.mutants.keeping import KEEPING
from proof.mutants.owning import OWNING
from proof.mutants.sharing import SHARING
from proof.mutants.timing import TIMING

ALL: list[Mutant] = [*OWNING, *TIMING, *KEEPING, *SHARING]
