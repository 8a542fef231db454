"""Scenario discovery: a model proposes seed queries for a domain, and reviews them."""
