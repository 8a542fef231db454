"""The network of sandboxes that have none: a proxy on the host, for the hosts a task may reach."""
