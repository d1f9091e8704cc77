"""The embedded store: one SQLite file, owned by one process, through apsw."""
