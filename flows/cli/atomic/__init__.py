"""Commands about the atomic tier: score-atomic."""
