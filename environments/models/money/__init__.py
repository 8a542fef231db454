"""What model calls cost, and the budgets that limit it.

`budget` reserves before a call and settles after it; all other modules use it. `trial_budget` adds
a trial's time, `spending` caps one client, `run_budget` is a worker's part of the run's budget,
which `shared_budget` keeps over all workers, and `admission` combines it with a provider's slot.
"""
