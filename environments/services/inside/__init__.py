"""What runs in a service's sandbox: it imports nothing of ours but this room."""
