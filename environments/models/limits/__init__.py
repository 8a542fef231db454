"""How many calls a provider gets at a time: what it says, what is decided, who waits.

`seam` is what clients see; `headers` reads what providers say about their limits; `governor`
decides, without a clock or a loop of its own; `local` makes the callers of one process wait.
"""
