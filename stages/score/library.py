"""The check library: every check by name, validation of a task's arguments, and running one."""

import logging
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath

from pydantic import ValidationError

from environments.renderers.worker import SOURCES
from stages.score.check import CheckArgs, CheckSpec, Evidence, Verdict
from stages.score.checks import (
    answer,
    delimited,
    documents,
    json_schema,
    media,
    slides,
    structured,
    tables,
    text,
    workbook,
)
from stages.score.evidence import TrialEvidence
from stages.score.matching import quote, storable
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Check
from taskdata.schema.scores import LeafScore, Unscored
from taskdata.schema.views import (
    ArchiveView,
    AudioView,
    CsvView,
    DocumentView,
    HtmlView,
    ImageView,
    JsonView,
    PdfView,
    SlidesView,
    SvgView,
    TextView,
    UnreadableView,
    VideoView,
    View,
    WorkbookView,
)

_logger = logging.getLogger(__name__)

_FAMILIES = (
    answer,
    text,
    tables,
    workbook,
    delimited,
    structured,
    json_schema,
    slides,
    documents,
    media,
)
_MAX_REASON = 600
_VIEW_OF = {
    ".xlsx": WorkbookView,
    ".csv": CsvView,
    ".docx": DocumentView,
    ".pptx": SlidesView,
    ".pdf": PdfView,
    ".html": HtmlView,
    ".png": ImageView,
    ".json": JsonView,
    ".wav": AudioView,
    ".md": TextView,
    ".txt": TextView,
    **dict.fromkeys((".jpg", ".gif", ".webp"), ImageView),
    **dict.fromkeys((".mp3", ".flac", ".ogg"), AudioView),
    **dict.fromkeys((".mp4", ".webm"), VideoView),
    ".svg": SvgView,
    ".zip": ArchiveView,
    **dict.fromkeys(SOURCES, TextView),
}


@cache
def check_library() -> Mapping[str, CheckSpec]:
    """Return the checks by name."""
    return {spec.name: spec for family in _FAMILIES for spec in family.CHECKS}


def kind_of_file(name: str) -> type | None:
    """Return the kind of view for a file of this name, None if nothing reads it."""
    return _VIEW_OF.get(PurePosixPath(name).suffix.lower())


def validate_check(check: Check) -> None:
    """Raise `BadTaskData`, naming check and field, unless the check can run."""
    _parsed(check)


def _parsed(check: Check) -> tuple[CheckSpec, CheckArgs]:
    spec = check_library().get(check.name)
    if spec is None:
        known = ", ".join(sorted(check_library()))
        raise BadTaskData(f"check {check.name!r} is not in the library; there are: {known}")
    if check.deliverable is None:
        if str not in spec.looks_at:
            raise BadTaskData(f"check {check.name!r}: field deliverable: this check needs a file")
    else:
        if kind_of_file(check.deliverable) not in spec.looks_at:
            raise BadTaskData(
                f"check {check.name!r}: field deliverable: this check reads "
                f"{', '.join(spec.reads)}, which {check.deliverable!r} is not"
            )
    try:
        return spec, spec.args.model_validate(check.args)
    except ValidationError as exc:
        fault = exc.errors(include_url=False, include_context=False)[0]
        field = ".".join(["args", *map(str, fault["loc"])])
        raise BadTaskData(f"check {check.name!r}: field {field}: {fault['msg']}") from exc


def run_check(leaf_id: str, check: Check, trial: TrialEvidence) -> LeafScore:
    """Return the score of a leaf that code verifies.

    A missing or unreadable deliverable, or one of another kind, scores 0. A fault in the check
    itself leaves the leaf unscored, because it says nothing about the agent. The time is not
    limited here; `stages.score.checking` runs checks that can be stopped.

    Raises:
        BadTaskData: the task's check is not valid.
    """
    spec, args = _parsed(check)
    try:
        verdict = _verdict(spec, args, check.deliverable, trial)
    except (MemoryError, RecursionError) as exc:
        # What is delivered can bring these about: left out of the score, it would be rewarded.
        return no_points(leaf_id, check, f"the check broke off: {type(exc).__name__}")
    except Exception as exc:
        _logger.exception("check %s failed on leaf %s", spec.name, leaf_id)
        reason = f"internal error in check {spec.name}: {type(exc).__name__}"
        return LeafScore(
            leaf_id=leaf_id,
            score=None,
            verifier=spec.label,
            reason=reason,
            unscored=Unscored.CHECK_FAILED,
        )
    return LeafScore(
        leaf_id=leaf_id,
        score=min(10.0, max(0.0, verdict.score)),
        verifier=spec.label,
        reason=_reason(verdict, trial.views.get(check.deliverable or "")),
        finding=verdict.finding if verdict.score < 10 else None,
    )


def _reason(verdict: Verdict, view: View | None) -> str:
    """Return the reason for a leaf's score, and which hidden text did not count."""
    hidden = getattr(view, "hidden", None)
    note = ""
    if hidden is not None:
        why = ", ".join(hidden.reasons)
        note = f"; not counted: {hidden.words} hidden words ({why}): {quote(hidden.quote)}"
    return storable(verdict.reason)[: _MAX_REASON - len(note)] + storable(note)


def no_points(leaf_id: str, check: Check, reason: str) -> LeafScore:
    """Return the score of a leaf whose check could not be completed on the delivered file."""
    spec = check_library().get(check.name)
    label = f"check:{check.name}" if spec is None else spec.label
    return LeafScore(leaf_id=leaf_id, score=0.0, verifier=label, reason=reason)


def _verdict(
    spec: CheckSpec, args: CheckArgs, deliverable: str | None, trial: TrialEvidence
) -> Verdict:
    evidence: Evidence
    if deliverable is None:
        evidence = trial.final_answer
    elif deliverable in trial.views:
        evidence = trial.views[deliverable]
    else:
        return Verdict(0.0, trial.not_delivered(deliverable))
    if isinstance(evidence, UnreadableView):
        return Verdict(0.0, f"the file cannot be read: {evidence.reason}")
    if not isinstance(evidence, spec.looks_at):
        kind = getattr(evidence, "kind", "text")
        return Verdict(0.0, f"the file is {kind}, which {spec.name} cannot look at")
    return spec.function(evidence, args)
