"""What a run can be: an HTTP call or a Python task."""
