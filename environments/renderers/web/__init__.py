"""Renderers of web pages."""
