"""Sentence encoders: how alike two texts are in meaning, as a number."""
