"""No feedback of any arm tells what a task's verifiers hold: planted values never come through."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import pytest

from stages.diagnose.labels import diagnose
from stages.diagnose.signals import Signals, observe
from stages.refine import feedback as arms
from stages.refine.feedback import feedback
from stages.refine.policy import Policy
from stages.score.evidence import TrialEvidence
from stages.score.guide.example_files import VIEWS
from stages.score.library import run_check
from stages.score.tool_results import score_tool_result
from stages.score.tree import aggregate
from taskdata.banks.loader import load_bank
from taskdata.schema.arms import ARMS, ASKING_ARMS
from taskdata.schema.checkpoint import Check, Checkpoint, ToolResultCheck
from taskdata.schema.diagnosis import LABELS, Diagnosis, Evidence, Label, Taxonomy
from taskdata.schema.run import Deliverable, OutcomeStatus, TrialOutcome
from taskdata.schema.scores import LeafScore, TrialScore
from taskdata.schema.success import SuccessRule
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending, Transcript
from taskdata.schema.views import DocumentView, JsonView, Paragraph, Table, View
from tests.soak import at_length_only
from tests.stages.diagnose.played import NOON
from tests.stages.refine.planting import Planter, leaks

RULED_ARMS = [arm for arm in ARMS if arm not in ASKING_ARMS]
"""The arms whose feedback rules write; what critics are shown is tested in test_critique.py."""
BANKS = ("starter", "starter-closed-loop")
NOT_PLANTED = {
    ("pptx_text_size", "scope"),
    ("pptx_notes", "slides"),
    ("image_colour", "tolerance"),
    ("image_region", "tolerance"),
}
"""Arguments with a choice of few words or small numbers, of which none is distinctive."""
BY_SUFFIX = {PurePosixPath(name).suffix: view for name, view in VIEWS.items()}


def planted_tasks(bank: str) -> list[tuple[Task, Planter]]:
    planters = [(task, Planter()) for task in load_bank(bank).tasks]
    return [(planter.task(task), planter) for task, planter in planters]


@pytest.fixture(scope="module")
def planted() -> list[tuple[Task, Planter]]:
    return [one for bank in BANKS for one in planted_tasks(bank)]


def views_of(task: Task, said: Iterable[str]) -> dict[str, View]:
    """Return wrong deliverables: example files, some of which say what is expected."""
    words = tuple(said)
    found = {}
    for spec in task.deliverables:
        view = BY_SUFFIX.get(PurePosixPath(spec.name).suffix.lower())
        if isinstance(view, DocumentView):
            lines = tuple(Paragraph(text=f"It is {word}.", level=1) for word in words)
            view = DocumentView(paragraphs=lines, tables=(Table(rows=(words, words)),))
        if isinstance(view, JsonView):
            view = JsonView(value=dict.fromkeys(words, "something else"))
        if view is not None:
            found[spec.name] = view
    return found


def scored(task: Task, views: dict[str, View], answer: str) -> Signals:
    """Return the signals of a trial with these deliverables, scored by the task's own checks."""
    trial = TrialEvidence(views=views, delivered=tuple(views), final_answer=answer)
    transcript = Transcript(events=(), final_answer=answer, ending=Ending.FINISHED)
    leaves = {}
    for leaf in task.checkpoints.leaves():
        if isinstance(leaf.verifier, Check):
            leaves[leaf.id] = run_check(leaf.id, leaf.verifier, trial)
        elif isinstance(leaf.verifier, ToolResultCheck):
            leaves[leaf.id] = score_tool_result(leaf.id, leaf.verifier, transcript)
        else:
            reason = f"expected {leaf.requirement}"
            leaves[leaf.id] = LeafScore(leaf_id=leaf.id, score=3, verifier="j", reason=reason)
    files = tuple(Deliverable(name=name, sha256="a" * 64, size_bytes=1) for name in views)
    outcome = TrialOutcome(
        trial_id="t1",
        attempt=1,
        status=OutcomeStatus.FINISHED,
        ending=Ending.FINISHED,
        deliverables=files,
        final_answer=answer,
        sandbox="bubblewrap",
        code_version="test",
        started_at=NOON,
        finished_at=NOON,
    )
    root = aggregate(task.checkpoints, leaves)
    score = TrialScore(trial_id="t1", root=root, scorer_version="1")
    return observe(
        task, outcome, transcript, score, (), SuccessRule(threshold=7.0, min_coverage=0.5)
    )


def diagnoses(signals: Signals, told: Iterator[str]) -> Iterator[Diagnosis]:
    """Yield diagnoses with every label, by rules and by a model, whose evidence says `told`."""
    found = diagnose("t1", signals)
    leaves = [leaf.checkpoint.id for leaf in signals.leaves]
    labels = [
        Label(
            taxonomy=taxonomy,
            name=name,
            confidence=1,
            evidence=(
                Evidence(says=next(told), leaf=leaves[at % len(leaves)]),
                Evidence(says=next(told), turn=1, deliverable=next(told), call=next(told)),
            ),
        )
        for taxonomy in Taxonomy
        for at, name in enumerate(LABELS[taxonomy])
    ]
    for start in range(0, len(labels), arms.LABELS_NAMED):
        some = tuple(labels[start : start + arms.LABELS_NAMED])
        for labeller in ("rules@3", "openai/gpt-5.2"):
            changes = {"labels": some, "labeller": labeller, "evidence": (next(told),)}
            yield found.model_copy(update=changes)


def feedbacks(task: Task, planter: Planter) -> Iterator[str]:
    """Yield every arm's feedback on every wrong trial of a planted task."""
    some = planter.planted[::2][:40]
    for views, answer in (({}, ""), (views_of(task, some), f"It is {', '.join(some[:5])}.")):
        signals = scored(task, views, answer)
        for arm in RULED_ARMS:
            yield feedback(arm, task, signals, diagnose("t1", signals))
        values = itertools.cycle(planter.planted)
        for diagnosis in diagnoses(
            signals, (f"{next(values)}, not {next(values)}" for _ in values)
        ):
            yield feedback("diagnosis", task, signals, diagnosis)


def found_in(planted: list[tuple[Task, Planter]]) -> list[str]:
    return [
        f"{task.id}: {value} in {text!r}"
        for task, planter in planted
        for text in feedbacks(task, planter)
        for value in leaks(text, planter.planted)
    ]


def test_nothing_that_a_verifier_holds_is_in_any_feedback(planted):
    assert not found_in(planted[::5])


@at_length_only
def test_nothing_that_a_verifier_holds_is_in_any_feedback_on_any_task(planted):
    assert not found_in(planted)


def test_every_argument_of_every_check_is_planted(planted):
    left = {one for _task, planter in planted for one in planter.left}

    assert left == NOT_PLANTED
    assert sum(len(planter.planted) for _task, planter in planted) > 1000


def raw_requirement(policy: Policy, leaf: Checkpoint) -> str:
    return leaf.requirement


def raw_quote(policy: Policy, text: str) -> str:
    return text


@pytest.mark.parametrize(
    ("place", "name", "leaking"),
    [
        (Policy, "requirement", raw_requirement),
        (Policy, "quote", raw_quote),
        (arms, "label_sentence", lambda label, *_: label.evidence[0].says),
        (arms, "check_sentence", lambda leaf, *_: str(leaf.checkpoint.verifier)),
    ],
)
def test_a_template_that_leaks_is_found_out(planted, monkeypatch, place, name, leaking):
    monkeypatch.setattr(place, name, leaking)

    assert found_in(planted[:1])
