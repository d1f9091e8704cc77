"""A worker without a connection to the store: it works through the API of a server, as workers in any language do."""
