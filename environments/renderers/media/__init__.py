"""Renderers of pictures and sound: measurements and small previews."""
