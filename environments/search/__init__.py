"""Web search behind the search tools: one protocol, several providers, recordings."""
