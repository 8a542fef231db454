"""Asking a model: prompts, structured answers, and what they will cost."""
