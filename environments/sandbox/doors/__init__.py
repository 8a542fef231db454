"""Doors: what a sandbox without a network reaches services through."""
