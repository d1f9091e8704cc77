"""Workers: they execute claimed runs."""
