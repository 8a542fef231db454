"""Everything the page shows about one trial, as JSON that holds nothing but texts and numbers.

The page builds its elements from this with `textContent` alone: no value here is ever read as
markup, as a link or as code.
"""

import logging
from collections.abc import Sequence
from typing import Any

from dashboards.pages import formats
from dashboards.pages.trial.caps import Cap, shown
from dashboards.pages.trial.cases import answered
from dashboards.pages.trial.end_to_end import end_to_end_facts
from dashboards.pages.trial.files import deliverable, input_file, left_out
from dashboards.pages.trial.plans import planned
from dashboards.pages.trial.predictions import compared
from dashboards.pages.trial.transcript import entries
from dashboards.pages.trial_rows import state
from taskdata.errors import NightshiftError
from taskdata.schema.diagnosis import Diagnosis, placed
from taskdata.schema.effort import CallEffort
from taskdata.schema.run import Trial, TrialResult
from taskdata.schema.scores import LeafScore, NodeScore
from taskdata.schema.task import Task
from taskdata.schema.transcript import Transcript, Usage
from taskdata.schema.views import RenderedDeliverable
from taskdata.store import Store

Details = dict[str, Any]
_logger = logging.getLogger(__name__)


def details(
    store: Store,
    result: TrialResult,
    task: Task,
    later: Sequence[Trial],
    cap: Cap,
) -> Details:
    """Return the details of a trial within `cap`.

    Args:
        store: Where transcript and views are.
        result: The trial and what is known of it.
        task: What was asked.
        later: The trials that refine this one, one of each arm.
        cap: How much is shown.
    """
    trial = result.trial
    found: Details = {
        "id": trial.id,
        "task": trial.task_id,
        "agent": shown(trial.agent, cap.reason),
        "title": shown(task.title, cap.reason),
        "facts": [[name, shown(value, cap.reason)] for name, value in _facts(result)],
        "query": shown(task.query, cap.text),
        "asked": [
            shown(f"{d.name}: {d.description}" if d.description else d.name, cap.reason)
            for d in task.deliverables
        ],
        "inputs": [input_file(file, cap) for file in task.files[: cap.deliverables]],
        "more_inputs": max(0, len(task.files) - cap.deliverables),
        "feedback": None if trial.feedback is None else shown(trial.feedback, cap.text),
        "earlier": trial.parent_trial_id,
        "later": [{"id": one.id, "arm": one.arm} for one in later],
        "errors": [shown(text, cap.text) for text in _errors(result)],
        "tree": None if result.score is None else _Tree(cap).node(result.score.root),
        "end_to_end": _end_to_end(result, cap),
        "diagnosis": _diagnosis(result, cap),
    }
    return found | _work(store, result, task, cap)


def _facts(result: TrialResult) -> list[tuple[str, str]]:
    trial, outcome, score = result.trial, result.outcome, result.score
    facts = [
        ("State", state(result)),
        ("Root score", _root_score(result)),
        ("Coverage", formats.share(None if score is None else score.root.coverage)),
        ("Task", trial.task_id),
        ("Category", f"{formats.words(trial.category)} ({trial.tier})"),
        ("Repetition", str(trial.repetition + 1)),
        ("Round", f"{trial.round}, arm {trial.arm}" if trial.arm else str(trial.round)),
        ("Trial", trial.id),
    ]
    if outcome is None:
        return facts
    calls = formats.plural(outcome.tool_calls, "tool call")
    failed = f"{formats.count(outcome.tool_errors)} failed"
    return [
        *facts,
        (
            "Effort",
            f"{formats.plural(outcome.turns, 'turn')}, {calls}, {failed}",
        ),
        ("Tokens", _tokens(outcome.usage)),
        ("Cost", formats.money(outcome.cost_usd)),
        *_beside("Simulated user", result.talking),
        *_beside("Feedback", result.critique),
        *_beside("Labeller", result.labelling),
        ("Time", formats.duration(outcome.wall_seconds)),
        ("Started", formats.when(outcome.started_at)),
        ("Attempt", str(outcome.attempt)),
        ("Model", outcome.model_id or "none"),
        ("Prompt", outcome.prompt_version or "none"),
        ("Sandbox", outcome.sandbox),
        ("Scorer", score.scorer_version if score else formats.UNKNOWN),
    ]


def _beside(name: str, effort: CallEffort) -> list[tuple[str, str]]:
    """Return the calls of a model beside the agent and their cost; nothing if there were none."""
    if not effort.calls:
        return []
    calls = formats.plural(effort.calls, "call")
    return [(name, f"{formats.money(effort.cost_usd)} for {calls}, beside the cost")]


def _root_score(result: TrialResult) -> str:
    if result.root_score is None:
        return "unscored"
    return formats.score_range(result.root_score, result.root_score_upper)


def _tokens(usage: Usage | None) -> str:
    if usage is None:
        return formats.UNKNOWN
    return f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"


def _errors(result: TrialResult) -> list[str]:
    outcome = result.outcome
    texts = [] if outcome is None else [outcome.error, outcome.error_detail]
    if result.scoring_error:
        texts.append(f"scoring: {result.scoring_error}")
    return [text for text in texts if text]


class _Tree:
    """Shows a score tree down to so many nodes."""

    def __init__(self, cap: Cap) -> None:
        self._cap = cap
        self._left = cap.nodes

    def node(self, node: NodeScore) -> Details:
        """Return a node with what is below it."""
        self._left -= 1
        shown_node: Details = {
            "id": node.id,
            "requirement": shown(_requirement(node), self._cap.reason),
            "weight": f"{node.weight:g}",
            "score": node.score if node.leaf is not None else node.lower,
            "bounds": _bounds(node),
            "coverage": formats.share(node.coverage),
        }
        if node.leaf is not None:
            shown_node["verifier"] = shown(node.leaf.verifier, self._cap.reason)
            if node.leaf.unscored is not None:
                shown_node["unscored"] = formats.words(node.leaf.unscored)
            shown_node["reason"] = shown(node.leaf.told, self._cap.reason)
            if node.leaf.panel:
                shown_node["panel"] = _panel(node.leaf, self._cap)
        children = []
        for number, child in enumerate(node.children):
            if self._left <= 0:
                shown_node["more"] = len(node.children) - number
                break
            children.append(self.node(child))
        shown_node["children"] = children
        return shown_node


def _panel(leaf: LeafScore, cap: Cap) -> Details:
    """Return what each judge of a panel said, and how far apart they are."""
    apart = leaf.disagreement
    return {
        "apart": "" if apart is None else f"the judges are {apart:g} points apart",
        "opinions": [
            {
                "judge": shown(opinion.name, cap.reason),
                "score": "no verdict" if opinion.score is None else f"{opinion.score:g}",
                "reason": shown(opinion.reason, cap.reason),
            }
            for opinion in leaf.panel
        ],
    }


def _requirement(node: NodeScore) -> str:
    return f"{node.requirement} (all required)" if node.rule == "all_required" else node.requirement


def _bounds(node: NodeScore) -> str:
    """Return how far verdicts that are missing leave an inner node's score open."""
    if node.leaf is not None or node.lower == node.upper:
        return ""
    return f"{formats.score_range(node.lower, node.upper)}: verdicts are missing"


def _end_to_end(result: TrialResult, cap: Cap) -> list[list[Any]]:
    found = None if result.score is None else result.score.root.end_to_end
    if found is None:
        return []
    return [[name, shown(value, cap.reason)] for name, value in end_to_end_facts(found)]


def _diagnosis(result: TrialResult, cap: Cap) -> Details | None:
    diagnosis = result.diagnosis
    if diagnosis is None:
        return None
    levels = [name for name, holds in diagnosis.levels.model_dump().items() if holds]
    stage = "did not fail" if diagnosis.stage is None else formats.words(diagnosis.stage)
    kind = "none" if diagnosis.type is None else formats.words(diagnosis.type)
    return {
        "facts": [
            ["Stage", f"{stage}{_by_model(diagnosis.is_by_model('stage'))}"],
            ["Type", f"{kind}{_by_model(diagnosis.is_by_model('type'))}"],
            ["Levels", ", ".join(levels) or "none"],
            ["Labelled by", shown(diagnosis.labeller, cap.reason)],
            *[[name, shown(text, cap.reason)] for name, text in _of_labeller(diagnosis)],
        ],
        "evidence": [
            shown(sentence, cap.reason)
            for sentence in (*diagnosis.evidence, *_labels(diagnosis))[: cap.nodes]
        ],
    }


def _labels(diagnosis: Diagnosis) -> list[str]:
    """Return each label as a sentence, with the first piece of its evidence."""
    return [
        f"{formats.words(one.name)} ({formats.words(one.taxonomy)}, confidence "
        f"{one.confidence:g}{_by_model(one.by is not None)}): {placed(one.evidence[0])}"
        for one in diagnosis.labels
    ]


def _by_model(is_by_model: bool) -> str:
    return ", by the model" if is_by_model else ""


def _of_labeller(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """Return which model was asked, and why it gave no label if its replies were of no use."""
    asked = diagnosis.by_model
    if asked is None:
        return []
    found = [("Labeller", asked.model)]
    found += [("Replies rejected", asked.rejected)] if asked.rejected else []
    return found + ([("Labeller not asked", asked.error)] if asked.error else [])


def _work(store: Store, result: TrialResult, task: Task, cap: Cap) -> Details:
    """Return what the agent did and left; an artifact that is lost is named, not fatal."""
    outcome = result.outcome
    if outcome is None:
        none = {"answer": "", "refused": [], "transcript": [], "deliverables": [], "lost": []}
        return none | {"steps": [], "plan": None, "case": None}
    transcript: Transcript | None = None
    views: dict[str, RenderedDeliverable] = {}
    lost = []
    try:
        if outcome.transcript_sha256 is not None:
            read = store.artifacts.read_bytes(outcome.transcript_sha256)
            transcript = Transcript.model_validate_json(read)
        if outcome.deliverables:
            views = {view.name: view for view in store.rendered(outcome.trial_id)}
    except NightshiftError as exc:
        _logger.warning("trial %s: %s", outcome.trial_id, exc)
        lost.append(shown(str(exc), cap.reason))
    kept = outcome.deliverables[: cap.deliverables]
    files = [deliverable(file, views.get(file.name), cap) for file in kept]
    if len(outcome.deliverables) > len(kept):
        files.append(left_out(len(outcome.deliverables) - len(kept)))
    return {
        "answer": shown(outcome.final_answer, cap.text),
        "refused": [shown(text, cap.reason) for text in outcome.rejected_files[: cap.nodes]],
        "transcript": []
        if transcript is None
        else entries(transcript, cap, [file.name for file in kept]),
        "steps": _steps(result, task, transcript, cap),
        "plan": None if transcript is None else planned(transcript.plan, cap),
        "case": answered(
            task.planning,
            None if transcript is None else transcript.predicted_plan,
            None if result.score is None else result.score.root.planning,
            cap,
        ),
        "deliverables": files,
        "lost": lost,
    }


def _steps(
    result: TrialResult, task: Task, transcript: Transcript | None, cap: Cap
) -> list[Details]:
    marks = None if result.score is None else result.score.root.steps
    if marks is None or task.reference is None or transcript is None:
        return []
    return compared(task.reference, transcript.predictions, marks, cap)
