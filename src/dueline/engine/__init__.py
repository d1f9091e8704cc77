"""The engine: loops that carry out what the domain decides, and the operations people ask for."""
