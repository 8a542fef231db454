"""When Python looks for cyclic garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_after() -> Iterator[None]:
    """Look for cyclic garbage after the block, and not within it.

    Trials are many small objects without cycles: looking through all of them again and again takes
    as long as reading them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
