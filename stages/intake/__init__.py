"""Seed intake: files of raw user requests become stored seeds, or say why they do not."""
