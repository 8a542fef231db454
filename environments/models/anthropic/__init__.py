"""Client of Anthropic's messages format.

Nothing is imported here: the SDK takes a second, and much of this package does without it.
"""
