"""Carrying out a run, as far as it needs no worker: from the claim to the call, and from the outcome to what becomes of the run."""
