"""How an agent that we did not write reaches its model: a proxy that counts and holds the key."""
