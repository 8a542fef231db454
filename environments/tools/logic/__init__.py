"""Tools that calculate, solve and draw data."""
