"""Readers of seed files, one format per file: bytes in, unvalidated rows out."""
