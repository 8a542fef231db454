"""What a task's program needs and does not find in its sandbox, noticed as it runs.

Many programs catch every exception and count it as a failed check, so a package or a database that
is missing here would become the agent's failure. The imports that the program itself makes are
watched for that; those that libraries make are their own affair, as most of them are optional.
"""

import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

DATABASE_LIBRARIES = frozenset({"psycopg2", "psycopg", "asyncpg", "pg8000", "sqlalchemy"})
"""Packages that a program imports to reach PostgreSQL."""

DATABASE_VARIABLE = "PGHOST"
"""Set in sandboxes that reach a database."""


class Needs:
    """Watches the imports of the programs in one folder."""

    def __init__(self, programs: str, lacks_database: Callable[[str], None]) -> None:
        self._programs = os.path.join(programs, "")
        self._lacks_database = lacks_database
        self.packages: list[str] = []
        """The packages that were imported and are not there."""
        self.refusals: list[str] = []
        """What a database that is there said to a connection that it did not accept."""

    def watch(self) -> None:
        """Watch the imports that are made from now on."""
        sys.meta_path.insert(0, _Seen(self._asked))
        sys.meta_path.append(_Seen(self._missing))
        if DATABASE_VARIABLE in os.environ:
            self._watch_connections()

    def _asked(self, name: str) -> None:
        has_none = DATABASE_VARIABLE not in os.environ
        if has_none and name in DATABASE_LIBRARIES and self._is_by_program():
            self._lacks_database(name)

    def _missing(self, name: str) -> None:
        if "." not in name and name not in self.packages and self._is_by_program():
            self.packages.append(name)

    def _is_by_program(self) -> bool:
        frame = sys._getframe(1)
        while frame.f_back is not None:
            file = frame.f_code.co_filename
            if file != __file__ and not file.startswith("<frozen importlib"):
                break
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self._programs)

    def _watch_connections(self) -> None:
        try:
            psycopg2 = import_module("psycopg2")
        except ImportError:
            return
        connect = self._noting(psycopg2.connect, psycopg2.OperationalError)
        vars(psycopg2)["connect"] = connect

    def _noting(self, connect: Callable[..., Any], refused: type[Exception]) -> Callable[..., Any]:
        @wraps(connect)
        def connected(*args: Any, **options: Any) -> Any:
            try:
                return connect(*args, **options)
            except refused as error:
                self.refusals.append(str(error))
                raise

        return connected


class _Seen(MetaPathFinder):
    """Finds nothing, and says what was looked for."""

    def __init__(self, seen: Callable[[str], None]) -> None:
        self._seen = seen

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return None: the next finder is asked."""
        self._seen(fullname)
        return None
