"""The page on which a person says why a trial failed, blind to what rules and models said.

It shows what was asked, the transcript, what was delivered and what the verifiers found. It names
neither the agent nor any label that the trial has.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dashboards.agreement.annotation import Place, file_context, rendered_page, script_policy
from dashboards.agreement.record import record_entries
from dashboards.pages import formats
from dashboards.pages.trial.caps import CAPS, shown
from taskdata.label_definitions import DEFINITIONS
from taskdata.schema.diagnosis import TOOL_USE
from taskdata.schema.label_agreement import ALL_LABELS, LabelAnnotation
from taskdata.schema.run import TrialResult
from taskdata.schema.scores import LeafScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript
from taskdata.schema.views import RenderedDeliverable

_CAP = CAPS[0]
_SCRIPT = "label.js"


@dataclass(frozen=True)
class Entered:
    """What stands in the form."""

    labels: Mapping[str, Collection[str]]
    """The names that are marked, by kind."""
    place: str = ""
    note: str = ""
    problem: str = ""
    """Why it was not saved; empty: nothing is wrong with it."""

    @classmethod
    def of(cls, annotation: LabelAnnotation | None) -> "Entered":
        """Return what the person saved before, or an empty form."""
        if annotation is None:
            return cls({})
        labels = {kind: annotation.labels.of(kind) for kind in ALL_LABELS}
        return cls(labels, annotation.place, annotation.note)


def label_page(
    place: Place,
    task: Task,
    result: TrialResult,
    transcript: Transcript | None,
    rendered: Sequence[RenderedDeliverable],
    places: Sequence[str],
    entered: Entered,
    token: str,
) -> str:
    """Return the page of one trial.

    Args:
        place: Where the annotator is.
        task: What was asked.
        result: The trial.
        transcript: Its transcript, if there is one.
        rendered: What was read of its deliverables.
        places: The places at which evidence may stand.
        entered: What stands in the form.
        token: Sent along with the labels, to show that they are from this page.
    """
    outcome = result.outcome
    error = (None if outcome is None else outcome.error) or result.scoring_error or ""
    return rendered_page(
        "label.html",
        _SCRIPT,
        place=place,
        task=task,
        answer="" if outcome is None else outcome.final_answer,
        error=shown(error, _CAP.text),
        ending="" if transcript is None else formats.words(transcript.ending.value),
        entries=[] if transcript is None else record_entries(transcript, _CAP),
        leaves=_leaves(task, result),
        **file_context(() if outcome is None else outcome.deliverables, rendered),
        places=places,
        meanings=DEFINITIONS,
        groups=_groups(task),
        entered=entered,
        token=token,
    )


def labelled_page(run_id: str, labelled: int, total: int) -> str:
    """Return the page after the last trial."""
    return rendered_page("labelled.html", _SCRIPT, run_id=run_id, labelled=labelled, total=total)


def label_policy() -> str:
    """Return the content security policy of these pages."""
    return script_policy(_SCRIPT)


def _groups(task: Task) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the labels from which any number may be chosen: kind, heading, names and meanings."""
    found = [
        (
            "level",
            "Level: A leaf, B composition, C deliverable",
            _meanings("level", ALL_LABELS["level"]),
        )
    ]
    found += [
        ("tool_use", f"Tool use: {formats.words(category)}", _meanings("tool_use", names))
        for category, names in TOOL_USE.items()
    ]
    found.append(("long_run", "Long runs", _meanings("long_run", ALL_LABELS["long_run"])))
    if task.tier == "atomic":
        found.append(("arguments", "Arguments", _meanings("arguments", ALL_LABELS["arguments"])))
    return found


def _meanings(kind: str, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, DEFINITIONS[kind][name]) for name in names]


def _leaves(task: Task, result: TrialResult) -> list[dict[str, object]]:
    """Return what the verifiers found, in the order of the task's tree."""
    scores = {} if result.score is None else {leaf.leaf_id: leaf for leaf in result.score.leaves}
    return [
        {
            "id": leaf.id,
            "requirement": shown(leaf.requirement, _CAP.reason),
            **_found(scores.get(leaf.id)),
        }
        for leaf in task.checkpoints.leaves()[: _CAP.nodes]
    ]


def _found(score: LeafScore | None) -> dict[str, object]:
    if score is None:
        return {"score": "not scored", "reason": ""}
    told = "not scored" if score.score is None else f"{score.score:g}"
    return {"score": told, "reason": shown(score.reason, _CAP.reason)}
