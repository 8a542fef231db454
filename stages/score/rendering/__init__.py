"""Deliverables of trials as views, and as pictures of their pages."""
