"""Jobs that are looked for by words."""

from __future__ import annotations

import re

from dueline.domain import limits

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
LETTERS = "0-9a-z\u00c0-\u1fff\u2070-\u2fff\u3040-\U0010ffff"
"""What words are made of, as a class of letters: digits, A to Z, and all beyond ASCII but its spaces and punctuation."""
_BETWEEN = re.compile(f"[^{LETTERS}]+")


def words_in(text: str) -> tuple[str, ...]:
    """The words of a text, each once, as they are compared: the case of A to Z does not matter. Databases agree on that, and on the case
    of no other letter. Where they are cut says the migration that keeps them, too."""
    found = _BETWEEN.split(text.translate(_LOWER))
    return tuple(dict.fromkeys(word[: limits.WORD_LETTERS_MAX] for word in found if word))
