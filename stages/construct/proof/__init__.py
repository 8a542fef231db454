"""Proof of a task: its chain runs, its reference reaches the full score, doing nothing none."""
