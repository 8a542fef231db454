"""How replies are read in each wire format: by our own clients, and by the proxy of programs."""
