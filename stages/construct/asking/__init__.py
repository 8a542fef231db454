"""Asking a model: prompts, structured answers, and estimates of their cost."""
