"""What the hardware gives to Python: bare loops without a line of the product, to hold it against."""
