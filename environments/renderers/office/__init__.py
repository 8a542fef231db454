"""Renderers of office files: ZIP archives of XML, shown as their viewers show them."""
