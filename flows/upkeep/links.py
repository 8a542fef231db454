"""Links from the pages of runs that stay to runs that would go."""

import re
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote

from dashboards.site.document import morning_page

_LINK = re.compile(rb"""href=(?:"([^"]*)"|'([^']*)')""")
_PARTS = re.compile(r"[/?#]")


def linked_runs(home: Path, kept: Collection[str], others: Collection[str]) -> set[str]:
    """Return which of the other runs a page of a kept run, or of its morning, links to.

    Pages that list all runs are written anew with each night, so they are not asked.
    """
    wanted = set(others)
    found: set[str] = set()
    for run_id in kept if wanted else ():
        own = (home.resolve() / "runs" / run_id).rglob("*.html")
        morning = home.resolve() / "site" / morning_page(run_id)
        for page in (*own, *([morning] if morning.is_file() else [])):
            for quoted, single in _LINK.findall(page.read_bytes()):
                parts = _PARTS.split(unquote((quoted or single).decode("utf-8", "replace")))
                found.update(wanted.intersection(parts))
    return found
