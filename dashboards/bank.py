"""The page of a bank release: what is in it, what changed, how every task came to be."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import plotly.graph_objects as go

from dashboards.figures.histogram import MOST_BARS, histogram
from dashboards.figures.timings import timings
from dashboards.pages.formats import words
from dashboards.pages.page import BANK_SCRIPTS, drawn_figures, packed_plotly, page
from dashboards.theme import PALETTE
from taskdata.schema.construct import Candidate, CandidateStatus, Construction
from taskdata.schema.evidence import MOST_FOR_CHEATS
from taskdata.schema.release import Lineage, ReleaseNotes
from taskdata.schema.review import ChecklistItem
from taskdata.schema.rewriting import RewritingTable
from taskdata.schema.run import StageReport
from taskdata.store import Store

BANK_BYTES = 1_000_000
"""Largest page of a release, beside a copy of Plotly that it carries."""
_ROWS = (1_000, 500, 250, 100, 50, 20, 5)
"""Most rows of a table: the first of these with which the page is no larger than it may be."""

_HISTOGRAMS = {
    "categories": "Categories",
    "capabilities": "Capabilities",
    "tiers": "Tiers",
    "difficulties": "Difficulty",
    "modalities": "Modalities",
    "tools": "Tools",
    "sources": "Sources",
}
_FREE_NAMES = ("tools", "sources")
"""Histograms whose names are shown as they are written; the others' are words of our own."""
_IN_ORDER = "difficulties"
"""The histogram whose names have an order of their own; in the others, the most frequent leads."""
_LEFT = (CandidateStatus.QUARANTINED, CandidateStatus.DELETED, CandidateStatus.REJECTED)
_KINDS = ("removed", "changed", "added")


def build_bank(
    store: Store,
    notes: ReleaseNotes,
    rewriting: RewritingTable | None = None,
    data_docs: Collection[str] = (),
    plotly: str | None = None,
) -> str:
    """Return the page of a release as HTML.

    Args:
        store: Where the refresh, its gates and its candidates are.
        notes: The release.
        rewriting: What rewriting changed in the refresh (GTA-2, tables 2 and 3), if there was one.
        data_docs: Gates whose Data Docs are beside the page, as `write_gate_docs` returns them.
        plotly: Where Plotly's script is, relative to the page; None: the page carries it, and
            needs nothing but a browser.
    """
    context = _context(store, notes, rewriting, data_docs)
    figures = _figures(notes, context["stages"])
    context["heights"] = {name: figure.layout.height for name, figure in figures.items()}
    data = drawn_figures(figures)
    most = BANK_BYTES + (len(packed_plotly()) if plotly is None else 0)
    html = ""
    for rows in _ROWS:
        html = page({**context, "largest": rows}, data, "bank.html", BANK_SCRIPTS, plotly)
        if len(html.encode()) <= most:
            break
    return html


def _context(
    store: Store, notes: ReleaseNotes, rewriting: RewritingTable | None, data_docs: Collection[str]
) -> dict[str, Any]:
    refresh_id = notes.refresh_id
    candidates = store.candidates(refresh_id) if refresh_id else []
    return {
        **_evidence(notes),
        "notes": notes,
        "kinds": Counter(change.kind for change in notes.changes),
        "changes": sorted(notes.changes, key=lambda change: _KINDS.index(change.kind)),
        "outlines": {task.hash: task for task in store.outlines(notes.release_hash)},
        "proven": sum(entry.proof == "proven" for entry in notes.lineage),
        "overridden": sum(bool(entry.overrides) for entry in notes.lineage),
        "histograms": _HISTOGRAMS,
        "most_bars": MOST_BARS,
        "fates": Counter(_fate(candidate) for candidate in candidates).most_common(),
        "left": [candidate for candidate in candidates if candidate.status in _LEFT],
        "rewriting": rewriting,
        "withdrawn": list(store.withdrawn_of_release(notes.release_hash).values()),
        "gates": store.bank_gates(refresh_id or notes.bank),
        "data_docs": data_docs,
        "stages": store.refresh_stages(refresh_id) if refresh_id else [],
    }


def _evidence(notes: ReleaseNotes) -> dict[str, Any]:
    """Return what the page says of all tasks at once about why they can be believed."""
    known = [entry.evidence for entry in notes.lineage if entry.evidence is not None]
    tried = [one.adversaries for one in known if one.adversaries is not None]
    paid = [one.best_paid.score or 0.0 for one in tried if one.best_paid is not None]
    return {
        "cheated": len(tried),
        "dearest": max(paid, default=None),
        "paid": sum(score > MOST_FOR_CHEATS for score in paid),
        "most_for_cheats": MOST_FOR_CHEATS,
        "mutations": sum(one.faults for one in tried),
        "noticed": sum(one.noticed for one in tried),
        "searched": sum(map(_is_searched, notes.lineage)),
        "requirements": sum(len(one.coverage or ()) for one in known),
        "gaps": sum(len(one.gaps) for one in known),
        "reviewed": [e for e in notes.lineage if e.evidence is not None and e.evidence.reviews],
        "checklist_items": len(ChecklistItem),
    }


def _is_searched(entry: Lineage) -> bool:
    """Whether unsafe texts were looked for; of candidates, this was not always recorded."""
    found = entry.evidence
    return entry.candidate_id is not None or (found is not None and found.is_searched)


def _figures(notes: ReleaseNotes, stages: list[StageReport]) -> dict[str, go.Figure]:
    statistics = notes.statistics
    figures = {}
    for name in _HISTOGRAMS:
        counted: dict[str, int] = getattr(statistics, name)
        counts = list(counted.items())
        if name != _IN_ORDER:
            counts.sort(key=lambda item: (-item[1], item[0]))
        if name not in _FREE_NAMES:
            counts = [(words(value), count) for value, count in counts]
        figures[name] = histogram(dict(counts), statistics.tasks, PALETTE[0])
    if stages:
        figures["timings"] = timings(stages, PALETTE[0])
    return figures


def _fate(candidate: Candidate) -> str:
    if candidate.status is not CandidateStatus.OPEN:
        return candidate.status.value
    waits = candidate.stage is Construction.REVIEW
    return "waiting for review" if waits else f"at {candidate.stage.value}"
