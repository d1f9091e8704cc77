"""The product as a contender: real processes of it, on stores that were filled the way it fills them."""
