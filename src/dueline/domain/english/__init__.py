"""Schedules in plain English: `phrases` reads them, the others are its grammar."""
