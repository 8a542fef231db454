"""Importing Great Expectations without two libraries that none of our expectations use.

Its expectation about Kullback-Leibler divergence imports Altair and `scipy.stats`, which take as
long as all the rest of it together, to test distributions and to draw them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_SELDOM_USED = ("altair", "scipy.stats")


class _Deferred(ModuleType):
    """Stands for a module that is imported once something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_great_expectations() -> None:
    """Import Great Expectations, which takes seconds; what it uses seldom is imported at need."""
    if "great_expectations" in sys.modules:
        return
    with _deferred(_SELDOM_USED):
        import_module("great_expectations")


@contextmanager
def _deferred(names: tuple[str, ...]) -> Iterator[None]:
    """Have imports of these modules within the block be deferred, and no others."""
    standing = {name: _Deferred(name) for name in names if name not in sys.modules}
    sys.modules.update(standing)
    try:
        yield
    finally:
        for name, module in standing.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
