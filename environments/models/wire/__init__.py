"""Communication with model providers: connections, encoding requests, parsing answers."""
