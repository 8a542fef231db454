"""How replies are parsed in each wire format, both for our own clients and for the proxy."""
