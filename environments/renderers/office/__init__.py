"""Renderers of office files: ZIP archives of XML, read as their viewer shows them."""
