"""Clients of OpenAI's formats: chat completions, responses, and the models that make files.

Nothing is imported here: the SDK takes a second, and much of this package does without it.
"""
