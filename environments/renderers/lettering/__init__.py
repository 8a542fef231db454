"""The text in pictures of deliverables, read by a text recogniser."""
