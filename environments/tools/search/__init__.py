"""GoogleSearch and web_search: one protocol, several providers, recordings."""
