"""Leaves that a program of the task scores."""
