"""Half of what it can do, for half an hour, with accidents all along: nothing may be lost, and nothing may grow."""
