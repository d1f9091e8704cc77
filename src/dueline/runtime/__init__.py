"""What touches the machine: clocks, loops, signals, logs, randomness."""
