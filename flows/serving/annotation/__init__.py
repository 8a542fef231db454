"""Pages on which a person scores leaves or labels failures, served to the owner of a home."""
