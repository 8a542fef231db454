"""Renderers of pictures and sound: measured and drawn small, never handed out."""
