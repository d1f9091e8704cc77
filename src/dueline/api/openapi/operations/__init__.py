"""What the types of routes cannot tell of them, noun by noun."""
