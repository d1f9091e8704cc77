"""Recurrence rules of RFC 5545: `text` reads and writes them, `times` finds their instants."""
