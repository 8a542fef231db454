"""What goes over the wire to model providers: connections, requests written, answers read."""
