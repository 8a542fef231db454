"""Harnesses of our own: how a model is asked, and how its answers are interpreted."""
