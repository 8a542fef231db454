"""The page on which a person scores one leaf blind: what was asked, and what was delivered.

It names neither the agent nor any score of a judge. What an agent wrote passes the templates'
escaping; its files are pictures that we drew, recordings, and downloads of bytes without a type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from markupsafe import Markup

from dashboards.pages.page import asset, source_hash, templates
from dashboards.pages.trial.caps import CAPS
from dashboards.pages.trial.files import deliverable, left_out
from dashboards.theme import DARK, LIGHT
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.run import Deliverable
from taskdata.schema.task import Task
from taskdata.schema.views import RenderedDeliverable

RECORDINGS: Mapping[str, str] = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "webm": "video/webm",
}
"""Media type by ending, of what a browser plays."""
_CAP = CAPS[0]
_SCRIPT = "annotate.js"


@dataclass(frozen=True)
class Place:
    """Where the annotator is."""

    number: int
    """Of the leaf, from 1."""
    total: int
    scored: int


def annotation_page(
    place: Place,
    task: Task,
    leaf: Checkpoint,
    answer: str,
    files: Sequence[Deliverable],
    rendered: Sequence[RenderedDeliverable],
    given: float | str | None,
    token: str,
) -> str:
    """Return the page of one leaf.

    Args:
        place: Where the annotator is.
        task: What was asked.
        leaf: What is scored.
        answer: The final answer.
        files: What was delivered.
        rendered: What was read of it.
        given: The score that the annotator gave before; `unknown`: could not tell; None: nothing.
        token: Sent along with the score, to show that it is from this page.
    """
    verifier = leaf.verifier
    return rendered_page(
        "annotate.html",
        _SCRIPT,
        place=place,
        task=task,
        leaf=leaf,
        rubric=verifier.rubric if isinstance(verifier, Judge) else "",
        looked_at=verifier.deliverables if isinstance(verifier, Judge) else (),
        answer=answer,
        **file_context(files, rendered),
        given="" if given is None else given if isinstance(given, str) else f"{given:g}",
        token=token,
    )


def done_page(run_id: str, scored: int, unknown: int) -> str:
    """Return the page after the last leaf."""
    return rendered_page("annotated.html", _SCRIPT, run_id=run_id, scored=scored, unknown=unknown)


def annotation_policy() -> str:
    """Return the content security policy of these pages."""
    return script_policy(_SCRIPT)


def script_policy(script: str) -> str:
    """Return the content security policy of a page with a form: it sends the form home, no more."""
    return (
        "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        "img-src 'self' data:; media-src 'self'; style-src 'unsafe-inline'; "
        f"script-src {source_hash(asset(script))}"
    )


def file_context(
    files: Sequence[Deliverable], rendered: Sequence[RenderedDeliverable]
) -> dict[str, Any]:
    """Return what the templates need to show the deliverables.

    Args:
        files: What was delivered.
        rendered: What was read of it.
    """
    views = {view.name: view for view in rendered}
    kept = files[: _CAP.deliverables]
    shown = [deliverable(file, views.get(file.name), _CAP) for file in kept]
    if len(files) > len(kept):
        shown.append(left_out(len(files) - len(kept)))
    return {"files": shown, "kinds": _kinds(files)}


def rendered_page(template: str, script: str, **context: Any) -> str:
    """Return an annotation page with this script."""
    html = templates().get_template(template)
    return html.render(
        **context,
        stylesheet=Markup(asset("dashboard.css")),  # noqa: S704 - our own file
        schemes={"light": LIGHT._asdict(), "dark": DARK._asdict()},
        script=Markup(asset(script)),  # noqa: S704 - our own file
    )


def _kinds(files: Sequence[Deliverable]) -> dict[str, str]:
    """Return `audio` or `video` by hash of what can be played."""
    found = {}
    for file in files:
        ending = PurePosixPath(file.name).suffix.lower().removeprefix(".")
        if ending in RECORDINGS:
            found[file.sha256] = RECORDINGS[ending].partition("/")[0]
    return found
