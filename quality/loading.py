"""Imports Great Expectations without two libraries that none of Nightshift's expectations use.

The expectation about Kullback-Leibler divergence imports Altair and `scipy.stats`. These take as
long to import as all the rest of Great Expectations.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_SELDOM_USED = ("altair", "scipy.stats")


class _Deferred(ModuleType):
    """A placeholder for a module that is imported when one of its attributes is first used."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def load_great_expectations() -> None:
    """Import Great Expectations; libraries that it seldom uses are imported on first use."""
    if "great_expectations" in sys.modules:
        return
    with _deferred(_SELDOM_USED):
        import_module("great_expectations")


@contextmanager
def _deferred(names: tuple[str, ...]) -> Iterator[None]:
    """Defer the imports of these modules within the block, and no other imports."""
    standing = {name: _Deferred(name) for name in names if name not in sys.modules}
    sys.modules.update(standing)
    try:
        yield
    finally:
        for name, module in standing.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
