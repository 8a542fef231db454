"""Paths of the packed empty PostgreSQL cluster: where it is made, and where it is mounted."""

TEMPLATE = "template.tar"
"""Path below the output folder of the sandbox that makes the cluster."""

TEMPLATE_MOUNT = "/run/postgresql-template.tar"
"""Path in the sandbox of a server."""
