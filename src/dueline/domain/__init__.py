"""What Dueline decides, as pure functions: no I/O, no clock, no randomness."""
