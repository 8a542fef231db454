"""Tools for the workspace: its files, and code that runs in it."""
