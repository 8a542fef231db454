"""Links from the pages of runs that stay to runs that would go."""

import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote

_LINK = re.compile(rb"""href=(?:"([^"]*)"|'([^']*)')""")
_PARTS = re.compile(r"[/?#]")


def linked_runs(home: Path, kept: Collection[str], others: Collection[str]) -> set[str]:
    """Return which of the other runs a page of a kept run links to.

    Pages that list all runs are written anew with each night, so they are not asked.
    """
    wanted = set(others)
    found: set[str] = set()
    for run_id in kept if wanted else ():
        for page in (home.resolve() / "runs" / run_id).rglob("*.html"):
            for quoted, single in _LINK.findall(page.read_bytes()):
                parts = _PARTS.split(unquote((quoted or single).decode("utf-8", "replace")))
                found.update(wanted.intersection(parts))
    return found
