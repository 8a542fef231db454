"""Where PostgreSQL's programs are, on the host as in an image."""

import shutil
from pathlib import Path

MISSING = "needs a PostgreSQL server below /usr: install the system's package `postgresql`"
_NEEDED = ("initdb", "postgres", "psql")


def newest_binaries() -> Path | None:
    """Return the folder of the newest server's programs below /usr, None if there is no server.

    Distributions keep several versions side by side, outside of PATH.
    """
    found = [
        folder
        for pattern in ("lib/postgresql/*/bin", "pgsql-*/bin", "lib/postgresql*/bin")
        for folder in Path("/usr").glob(pattern)
    ]
    on_path = shutil.which("postgres")
    if on_path is not None and Path(on_path).resolve().is_relative_to("/usr"):
        found.append(Path(on_path).resolve().parent)
    complete = [f for f in found if all((f / program).is_file() for program in _NEEDED)]
    return max(complete, key=_version, default=None)


def _version(folder: Path) -> tuple[int, ...]:
    digits = "".join(c if c.isdigit() else " " for c in str(folder))
    return tuple(int(part) for part in digits.split())
