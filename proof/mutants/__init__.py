"""The proof of the proof: builds that are broken on purpose, one way each, and whether the suites find out."""
