"""Commands with which reviewers answer the checklist, decide, and see how far they agree."""
