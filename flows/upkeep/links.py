"""Links from the pages of runs that stay to runs that would go."""

import re
from collections.abc import Collection
from glob import escape
from pathlib import Path
from urllib.parse import unquote

_LINK = re.compile(rb"""href=(?:"([^"]*)"|'([^']*)')""")
_PARTS = re.compile(r"[/?#]")


def linked_runs(home: Path, kept: Collection[str], others: Collection[str]) -> set[str]:
    """Return which of the other runs a page of a kept run, or of its night, links to.

    Pages over all nights are not asked: they list every run, and lead to a page that says so where
    a run is gone.
    """
    wanted = set(others)
    found: set[str] = set()
    for run_id in kept if wanted else ():
        for page in _pages(home.resolve(), run_id):
            for quoted, single in _LINK.findall(page.read_bytes()):
                parts = _PARTS.split(unquote((quoted or single).decode("utf-8", "replace")))
                found.update(wanted.intersection(parts))
    return found


def _pages(home: Path, run_id: str) -> list[Path]:
    return [
        *(home / "runs" / run_id).rglob("*.html"),
        *(home / "site" / "nights").glob(f"{escape(run_id)}.html"),
    ]
