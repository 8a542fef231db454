"""Readers of seed files, one format per file: bytes in, rows out, nothing believed yet."""
