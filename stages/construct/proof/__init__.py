"""Proof of a task: its chain runs, its reference solution earns all, and nothing earns nothing."""
