"""Where jobs and runs are kept: one protocol, two stores."""
