"""The packed empty PostgreSQL cluster: where it is made, and where it is seen."""

TEMPLATE = "template.tar"
"""Below the output folder of the sandbox that makes it."""

TEMPLATE_MOUNT = "/run/postgresql-template.tar"
"""In the sandbox of a server."""
