"""Where files that the host has kept are in the sandbox of a service, and what clusters hold."""

EMPTY = "nightshift_empty"
"""Name of role and database in a cluster that any service may fill, and how it is asked for."""

FILLED = "filled"
"""How a cluster is asked for that holds a service's own role and its filled database."""

TEMPLATE = "template.tar"
"""Path of a packed cluster below the output folder of the sandbox that makes it."""

TEMPLATE_MOUNT = "/run/postgresql-template.tar"
"""Path in the sandbox of a server."""

KEPT_MOUNT = "/run/kept-service"
"""Path in the sandbox of a service that is started from what another one has kept."""
