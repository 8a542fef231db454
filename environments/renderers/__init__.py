"""Renderers: an untrusted deliverable becomes a structured view, inside a sandbox."""
