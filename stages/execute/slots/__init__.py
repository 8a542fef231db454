"""Who gets a slot of a worker next, and for how long."""
