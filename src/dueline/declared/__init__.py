"""Jobs that are declared in files: read, compared with what a server has, and written back from it."""
