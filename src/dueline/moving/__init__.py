"""Moving in from elsewhere: what other schedulers have, as jobs. Nothing here talks to a server or runs what it reads."""
