"""When things happen: lags of what is due, with real processes on a durable server, and what waiting costs."""
