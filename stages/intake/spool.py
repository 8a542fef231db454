"""Values between reading a file and storing it, kept on disk because there may be many."""

import tempfile
from collections.abc import Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from taskdata.schema.base import Value

_V = TypeVar("_V", bound=Value)
_IN_MEMORY_BYTES = 1 << 20


class Spool(Generic[_V]):
    """A list of values of one type that is kept on disk; removed when its block ends."""

    def __init__(self, kind: type[_V]) -> None:
        self._kind = kind
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115
        self._size = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._size

    def add(self, value: _V) -> None:
        """Put a value at the end."""
        self._file.write(value.model_dump_json().encode() + b"\n")
        self._size += 1

    def __iter__(self) -> Iterator[_V]:
        """Yield the values in order; nothing may be added meanwhile."""
        self._file.seek(0)
        for line in self._file:
            yield self._kind.model_validate_json(line)
