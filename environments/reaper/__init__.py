"""Removal of what killed processes leave behind: ownership, liveness, clean-up."""
