"""The means to hurt real processes. Each says what it lacks (`why_not`), what it did, and leaves nothing behind."""
