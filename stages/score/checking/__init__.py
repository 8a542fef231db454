"""Checks run in a process of their own, which is killed when a check takes too long."""
