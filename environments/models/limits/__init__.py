"""How many calls a provider gets at a time: what it says, what is decided, who waits.

`seam` is what clients see; `headers` reads what providers say about their limits; `window` is the
search for how many calls a provider takes; `governor` decides when one may start, without a clock
or a loop of its own; `local` makes the callers of one process wait; `coordinator` deals out to
processes what they have together, which `shared` asks for.
"""
