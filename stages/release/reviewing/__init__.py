"""Reviewing: verdicts of several people, the evidence they are shown, how far they agree."""
