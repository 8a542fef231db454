"""Harnesses of our own: how an agent is asked, and what becomes of its answers."""
