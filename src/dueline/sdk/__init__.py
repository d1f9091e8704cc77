"""Talking to a Dueline server from Python."""
