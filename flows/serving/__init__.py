"""The Prefect server of this machine, what it serves, and how its flow runs call each other."""
