"""A metering proxy for agents that we did not write: it counts calls and keeps the API key."""
