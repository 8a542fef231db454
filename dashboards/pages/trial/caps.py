"""How much of a trial the page shows; longer texts end in how much more there was."""

import json
from typing import Any, NamedTuple

from dashboards.visible_text import visible

Shown = str | list[str | int]
"""A text, or the beginning of it and the number of characters left out."""


class Cap(NamedTuple):
    """Limits on the details of one trial."""

    text: int
    """Characters of a transcript text, an answer, a document."""
    reason: int
    """Characters of a name, a reason, a sentence of evidence, a table cell."""
    events: int
    """Events of the transcript: the first and the last half of them."""
    rows: int
    """Rows of one previewed table, paragraphs, slides or pages of one deliverable."""
    columns: int
    deliverables: int
    nodes: int
    """Nodes of the checkpoint tree."""


CAPS = (
    Cap(text=12_000, reason=1_200, events=400, rows=15, columns=12, deliverables=40, nodes=400),
    Cap(text=4_000, reason=800, events=240, rows=10, columns=10, deliverables=20, nodes=200),
    Cap(text=1_200, reason=400, events=120, rows=6, columns=8, deliverables=12, nodes=100),
    Cap(text=400, reason=240, events=40, rows=3, columns=6, deliverables=8, nodes=60),
    Cap(text=160, reason=120, events=8, rows=0, columns=0, deliverables=4, nodes=40),
)
"""From generous to tight; a trial gets the first that fits into its part of the page."""


def shown(text: str, limit: int) -> Shown:
    """Return `text` with unseen characters visible, cut to `limit` characters."""
    seen = visible(text[: limit + 1])
    if len(text) <= limit:
        return seen
    return [visible(text[:limit]), len(text) - limit]


def shown_json(value: Any, limit: int) -> Shown:
    """Return a JSON value as indented text, cut to `limit` characters."""
    return shown(json.dumps(value, indent=2, ensure_ascii=False, default=str), limit)
