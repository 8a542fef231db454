"""Tools over the workspace itself: its files, and code that runs in it."""
