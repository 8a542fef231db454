"""Answers of models during construction: the requested forms, parsing, and drafts from them."""
