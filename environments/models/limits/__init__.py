"""How many calls a model provider gets at a time and per minute, over all workers of all runs.

Each process queues its own calls (`limiter`) by a share of the provider's limits that the run's
`coordinator` computes from `shared_limits`. `protocols` is what clients see.
"""
