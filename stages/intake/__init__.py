"""Seed intake: raw user requests from files become stored seeds, or are refused with a reason."""
