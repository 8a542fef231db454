"""Keeping an installation small and safe: old runs removed, sizes, backups."""
