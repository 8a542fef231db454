"""Data Docs of gates, as files beside the page that links to them, with the gate's history.

Great Expectations renders one validation result (`quality.data_docs`). Its own index of many shows
of each that it succeeded or failed, and loads styles and scripts from other hosts; so the history
is a template of ours, filled from what each expectation found.
"""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from dashboards.pages.page import templates
from taskdata.artifacts import ArtifactStore
from taskdata.errors import NightshiftError
from taskdata.schema.gate import ExpectationOutcome, GatePass, GateResult

_logger = logging.getLogger(__name__)

_FOLDER = "gates"
_PASSES_SHOWN = 12
_BAR, _LEAST_BAR = 19, 2
_LINK = '<p><a href="#history">History over nights and releases</a></p>\n'
_Key = tuple[str, str, int]


class Rule(NamedTuple):
    """One expectation over the passes of its gate, newest first."""

    now: ExpectationOutcome
    """What it found last."""
    shown: tuple[ExpectationOutcome | None, ...]
    """By pass; None: it was not expected then, or nothing is on record."""
    shares: tuple[float, ...]
    """Share (0-1) of values that broke it, of all passes on record, oldest first."""

    @property
    def heights(self) -> list[int]:
        """Return the bars of the shares in pixels: none for none, and two for however few."""
        return [max(_LEAST_BAR, round(share * _BAR)) if share else 0 for share in self.shares]


def write_gate_docs(
    artifacts: ArtifactStore,
    gates: Iterable[GateResult],
    folder: Path,
    history: Mapping[str, Sequence[GatePass]] | None = None,
    pages: Mapping[str, Path] | None = None,
) -> frozenset[str]:
    """Write the Data Docs of the gates to `gates/<gate>.html` below the page's folder.

    Args:
        artifacts: Where Data Docs are kept.
        gates: The gates of the page.
        folder: Of the page.
        history: The passes of each gate, newest first; a gate without any is shown alone.
        pages: The page of a run or release by the subject of a pass; one that is not there is
            not linked.

    Returns:
        The gates whose Data Docs are there. One whose artifact is lost is left out, with a
        warning: it is not worth the page.

    Raises:
        StoreUnavailable: if the artifact store cannot be read.
    """
    written = set()
    for result in gates:
        if result.docs_sha256 is None:
            continue
        target = folder / _FOLDER / f"{result.gate}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            artifacts.copy_to(result.docs_sha256, target)
        except NightshiftError as exc:
            if exc.transient:
                raise
            _logger.warning("gate %s of %s: %s", result.gate, result.run_id, exc)
        else:
            _add_history(target, (history or {}).get(result.gate, ()), pages or {}, result.run_id)
            written.add(result.gate)
    return frozenset(written)


def _add_history(
    target: Path, passes: Sequence[GatePass], pages: Mapping[str, Path], subject: str
) -> None:
    """Put the history of a gate after its result, and a link to it before."""
    if not passes:
        return
    html = target.read_text(encoding="utf-8")
    links = {
        name: quote(Path(os.path.relpath(page, target.parent)).as_posix())
        for name, page in pages.items()
        # The page that they lie beside is written after them.
        if page.exists() or name == subject
    }
    section = (
        templates()
        .get_template("gate_history.html")
        .render(
            passes=passes[:_PASSES_SHOWN],
            every=len(passes),
            rules=rules_over(passes, _PASSES_SHOWN),
            links=links,
            subject=subject,
        )
    )
    html = html.replace("<main>", f"{_LINK}<main>", 1)
    target.write_text(html.replace("</main>", f"</main>\n{section}", 1), encoding="utf-8")


def rules_over(passes: Sequence[GatePass], most: int) -> list[Rule]:
    """Return every expectation that some pass has, those of the newest pass first.

    Args:
        passes: Passes of one gate, newest first.
        most: Newest passes that are shown one by one.
    """
    found = [_keyed(done.outcomes) for done in passes]
    keys = dict.fromkeys(key for outcomes in found for key in outcomes)
    return [
        Rule(
            now=next(outcomes[key] for outcomes in found if key in outcomes),
            shown=tuple(outcomes.get(key) for outcomes in found[:most]),
            shares=tuple(_share(outcomes[key]) for outcomes in reversed(found) if key in outcomes),
        )
        for key in keys
    ]


def _keyed(outcomes: Iterable[ExpectationOutcome]) -> dict[_Key, ExpectationOutcome]:
    """Return outcomes by what stays the same from pass to pass, while limits and wording change."""
    keyed: dict[_Key, ExpectationOutcome] = {}
    for outcome in outcomes:
        number = 0
        while (key := (outcome.rule, outcome.type, number)) in keyed:
            number += 1
        keyed[key] = outcome
    return keyed


def _share(outcome: ExpectationOutcome) -> float:
    if outcome.evaluated and outcome.unexpected is not None:
        return min(1.0, outcome.unexpected / outcome.evaluated)
    return 0.0 if outcome.success else 1.0
