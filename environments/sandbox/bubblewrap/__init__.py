"""Sandboxes from Linux namespaces through bubblewrap: no engine, no image, no root needed."""
