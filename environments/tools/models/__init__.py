"""Tools that ask a model to describe or to generate."""
