"""Rate limits: concurrent calls and calls per minute at a provider, over all workers of all runs.

Each process queues its own calls (`limiter`) within a share of the provider's limits that the run's
`coordinator` computes from `shared_limits`. Clients use `protocols`.
"""
