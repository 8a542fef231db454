"""Where files that the host has kept are in the sandbox of a service, and an empty cluster."""

TEMPLATE = "template.tar"
"""Path below the output folder of the sandbox that makes the cluster."""

TEMPLATE_MOUNT = "/run/postgresql-template.tar"
"""Path in the sandbox of a server."""

KEPT_MOUNT = "/run/kept-service"
"""Path in the sandbox of a service that is started from what another one has kept."""
