"""JSON shapes that the API and the SDK share, and their translation to and from the domain."""
