"""Tools that ask a model to see or to draw."""
