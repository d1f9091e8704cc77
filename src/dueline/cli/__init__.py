"""The command `dueline`."""
