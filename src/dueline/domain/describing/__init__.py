"""Schedules told in a sentence: `sentences` tells them, the others are its words."""
