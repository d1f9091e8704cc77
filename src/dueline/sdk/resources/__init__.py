"""The methods of clients, a file for each kind of thing."""
