"""Memory of the warm Python that the processes it forks do not inherit.

It holds what no call may know: the nonce of a request, and the output of other calls. Whatever else
the warm Python has in its memory, a call that was taken over can read.
"""

import mmap
import os


class PrivateMemory:
    """Bytes that are read from descriptors and written to others, never copied in between."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._map = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._map.madvise(mmap.MADV_DONTFORK)
        self._view = memoryview(self._map)
        self._used = 0

    @property
    def left(self) -> int:
        """How many bytes still fit."""
        return self._size - self._used

    def read_from(self, descriptor: int) -> int:
        """Add what one read gives, at most what fits; return how much that was."""
        with self._view[self._used :] as free:
            count = os.readv(descriptor, [free])
        self._used += count
        return count

    def content(self, begin: int = 0, end: int | None = None) -> memoryview:
        """Return what was read, as a view that no bytes are copied for."""
        return self._view[begin : self._used if end is None else min(end, self._used)]

    def clear(self) -> None:
        """Forget what was read."""
        self._used = 0

    def close(self) -> None:
        """Give the memory back; no view of it may be left."""
        self._view.release()
        self._map.close()
