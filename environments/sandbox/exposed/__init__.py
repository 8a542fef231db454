"""Exposed ports: what a sandbox without a network reaches services through."""
