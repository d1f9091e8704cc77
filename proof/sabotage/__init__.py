"""Builds that are broken on purpose, each a program in place of `dueline`: the judge must find out, or his word is worth nothing."""
