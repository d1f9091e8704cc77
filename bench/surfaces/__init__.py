"""What the API carries: single calls on connections that are kept, beside a handler that does nothing and the bare statements."""
