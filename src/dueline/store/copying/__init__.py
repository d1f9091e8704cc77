"""Moving everything that a store holds into another one, while processes work in it."""
