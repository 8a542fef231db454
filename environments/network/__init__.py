"""Network access of sandboxes: a proxy on the host lets them reach the hosts a task allows."""
