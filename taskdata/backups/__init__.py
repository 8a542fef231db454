"""Backups: one folder or file with the database and its artifacts, restored anywhere."""
