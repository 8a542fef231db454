"""Exposed ports: how a sandbox without a network reaches services on the host."""
