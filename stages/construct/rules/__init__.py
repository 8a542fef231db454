"""Rules for drafts that code can check: pure functions from a draft to its violations."""
