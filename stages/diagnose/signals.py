"""What a scored trial shows without any model: its tool calls, its files, its leaves.

Signals are facts; `labels` interprets them. Only finished and scored trials have signals, so an
infrastructure failure has none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath

from taskdata.errors import NightshiftError
from taskdata.schema.checkpoint import Checkpoint, Judge, ScriptCheck, checked_by_code
from taskdata.schema.planning_score import PlanError
from taskdata.schema.run import Deliverable, TrialOutcome
from taskdata.schema.scores import CheckFinding, NodeScore, TrialScore
from taskdata.schema.service import service_of
from taskdata.schema.success import SuccessRule, TrialVerdict
from taskdata.schema.task import Task
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.tool_use import ENDING_TOOLS
from taskdata.schema.transcript import Ending, ToolEvent, Transcript
from taskdata.schema.views import RenderedDeliverable, UnreadableView

ANSWER = "final answer"
"""The final answer, among the names of deliverables."""
ANY_FILE = "any file"
"""What a task asks for that names its files only in its query and in the program that scores it."""
_TEXT_LENGTH = 160
_ROUNDING = 1e-9
_MALFORMED = {ToolErrorKind.UNKNOWN_TOOL, ToolErrorKind.BAD_ARGUMENTS}
_WRITERS = {"python_execute", "write_file", "Plot"}


@dataclass(frozen=True)
class LeafSignal:
    """A scored leaf of the checkpoint tree."""

    checkpoint: Checkpoint
    score: float
    holds: bool
    """The score is above the run's threshold, or high enough for the parent that requires it."""
    share: float
    """Share (0-1) of the root score that the leaf decides, among the scored leaves."""
    undelivered: bool
    """The deliverable that the leaf is about is missing, unreadable or empty."""
    absent: bool = False
    """The deliverable is missing, and no delivered file seems to be meant for it."""
    finding: CheckFinding | None = None
    """What its check counted, without any value; None: nothing."""

    @property
    def lost(self) -> float:
        """Points of the root score (0-10) that the leaf lost."""
        return self.share * (10 - self.score)


@dataclass(frozen=True)
class Signals:
    """Facts about one trial."""

    root_score: float
    """Mean over the scored leaves."""
    lower: float
    """Lower bound of the root score: leaves without a verdict count 0."""
    upper: float
    verdict: TrialVerdict
    threshold: float
    coverage: float
    ending: Ending
    turns: int
    calls: int
    """Tool calls other than those that end the trial."""
    failed_calls: int
    malformed_calls: int
    """Calls of a tool that does not exist, or with arguments that could not be read."""
    failures_at_end: int
    """How many consecutive calls had failed when the trial ended."""
    first_error: str
    """`tool: message` of the first failed call; empty if none failed."""
    last_error: str
    """The same of the last failed call."""
    writing_calls: int
    """Calls that wrote a file, or of a tool that writes files."""
    asked: tuple[str, ...]
    """Names of the deliverables; otherwise the final answer, any file or, with services, none."""
    missing: tuple[str, ...]
    misnamed: tuple[str, ...]
    """Files delivered under another name, with the type of a missing deliverable."""
    unreadable: tuple[str, ...]
    rejected: tuple[str, ...]
    """Files that collection refused, with reasons."""
    leaves: tuple[LeafSignal, ...]
    broken_nodes: tuple[str, ...]
    """Inner nodes that fail though most of their scored leaves hold."""
    unanswered: int = 0
    """Leaves for which a verifier was asked and gave no score."""
    left_nothing: bool = False
    """The agent left no file, not even a refused one, and gave no answer."""
    watched: bool = True
    """Whether the tool calls are known; those of programs and imported results are not."""
    plan_errors: tuple[PlanError, ...] = ()
    """Kinds of error of an answer to a planning case."""

    @property
    def tried_nothing(self) -> bool:
        """Whether the agent called no tool and left nothing; even a call that only reads counts."""
        return self.watched and self.calls == 0 and self.left_nothing

    @property
    def fell_short(self) -> bool:
        """Whether the scored leaves alone show that the trial did not succeed."""
        return self.root_score <= self.threshold

    @property
    def undelivered(self) -> tuple[str, ...]:
        """Deliverables that are missing or unreadable."""
        return self.missing + self.unreadable


def observe(
    task: Task,
    outcome: TrialOutcome,
    transcript: Transcript,
    score: TrialScore,
    rendered: Sequence[RenderedDeliverable],
    rule: SuccessRule,
) -> Signals:
    """Return the signals of a finished and scored trial.

    Raises:
        NightshiftError: if no leaf was scored, because then nothing is known to have failed.
    """
    root = score.root
    if root.score is None or root.lower is None or root.upper is None:
        raise NightshiftError(f"trial {score.trial_id} has no scored leaf to learn from")
    calls = [event for event in transcript.tool_events if event.call.tool not in ENDING_TOOLS]
    failed = [event for event in calls if event.error is not None]
    missing, misnamed = _missing(task, outcome)
    unreadable = tuple(r.name for r in rendered if isinstance(r.view, UnreadableView))
    asked = tuple(d.name for d in task.deliverables)
    return Signals(
        root_score=root.score,
        lower=root.lower,
        upper=root.upper,
        verdict=rule.verdict(root),
        threshold=rule.threshold,
        coverage=root.coverage,
        ending=transcript.ending,
        turns=transcript.turns,
        calls=len(calls),
        failed_calls=len(failed),
        malformed_calls=sum(event.error in _MALFORMED for event in calls),
        failures_at_end=len(list(takewhile(lambda e: e.error is not None, reversed(calls)))),
        first_error=_error(failed[0]) if failed else "",
        last_error=_error(failed[-1]) if failed else "",
        writing_calls=sum(_writes(event) for event in calls),
        asked=asked or _unnamed(task),
        missing=missing,
        misnamed=misnamed,
        unreadable=tuple(name for name in asked if name in unreadable),
        rejected=outcome.rejected_files,
        leaves=_leaves(task, score, {*missing, *unreadable}, outcome, rule.threshold),
        left_nothing=_left_nothing(task, outcome),
        broken_nodes=tuple(_broken(root, rule.threshold)),
        unanswered=score.unanswered_leaves,
        watched=transcript.calls_are_known,
        plan_errors=() if root.planning is None else tuple(sorted(root.planning.errors)),
    )


def one_line(text: str, length: int = _TEXT_LENGTH) -> str:
    """Return text that an agent or tool wrote as one printable line of at most `length`."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * length])
    line = " ".join(line.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _error(event: ToolEvent) -> str:
    return f"{one_line(event.call.tool, 40)}: {one_line(event.text)}"


def _writes(event: ToolEvent) -> bool:
    tool = event.call.tool
    return bool(event.files) or tool in _WRITERS or tool.endswith("FileGenerator")


def _missing(task: Task, outcome: TrialOutcome) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the missing deliverables, and the files that may be meant for them."""
    delivered = {d.name for d in outcome.deliverables if not task.is_answer(d.name)}
    if (unnamed := _unnamed(task)) == (ANY_FILE,):
        return (() if _own_files(task, outcome) or outcome.rejected_files else unnamed), ()
    asked = {d.name for d in task.deliverables}
    missing = tuple(d.name for d in task.deliverables if not any(map(d.matches, delivered)))
    types = {PurePosixPath(name).suffix.lower() for name in missing}
    others = sorted(delivered - asked)
    misnamed = tuple(o for o in others if PurePosixPath(o).suffix.lower() in types)
    if not outcome.final_answer.strip():
        missing += unnamed
    return missing, misnamed


def _leaves(
    task: Task,
    score: TrialScore,
    undelivered: set[str],
    outcome: TrialOutcome,
    threshold: float,
) -> tuple[LeafSignal, ...]:
    checkpoints = {leaf.id: leaf for leaf in task.checkpoints.leaves()}
    if not outcome.final_answer.strip():
        undelivered = undelivered | {ANSWER}
    absent = {name for name in undelivered if not _is_there_somehow(name, outcome, task)}
    required = _required(task.checkpoints)
    leaves = []
    findings = {leaf.leaf_id: leaf.finding for leaf in score.leaves}
    for leaf_id, leaf_score, share in _shares(score.root, 1.0):
        looked_at = _looked_at(checkpoints[leaf_id])
        leaves.append(
            LeafSignal(
                checkpoint=checkpoints[leaf_id],
                score=leaf_score,
                holds=leaf_score >= required[leaf_id] - _ROUNDING
                if leaf_id in required
                else leaf_score > threshold,
                share=share,
                undelivered=bool(looked_at) and looked_at <= undelivered,
                absent=bool(looked_at) and looked_at <= absent,
                finding=findings.get(leaf_id),
            )
        )
    return tuple(leaves)


def _unnamed(task: Task) -> tuple[str, ...]:
    """Return what a task without deliverables asks for; nothing if its services may hold it."""
    if task.deliverables:
        return ()
    if not all(isinstance(leaf.verifier, ScriptCheck) for leaf in task.checkpoints.leaves()):
        return (ANSWER,)
    return () if task.services else (ANY_FILE,)


def _required(node: Checkpoint) -> dict[str, float]:
    """Return the least score of each leaf that its parent requires to pass."""
    found = {name: mark for child in node.children for name, mark in _required(child).items()}
    if node.rule == "all_required":
        found |= {c.id: node.passes_from for c in node.children if c.verifier and c.weight}
    return found


def _left_nothing(task: Task, outcome: TrialOutcome) -> bool:
    own = _own_files(task, outcome)
    return not (own or outcome.rejected_files or outcome.final_answer.strip())


def _own_files(task: Task, outcome: TrialOutcome) -> list[Deliverable]:
    """Return the files that are there because of what the agent did.

    The final state of a task's services, and inputs in the output folder, are there anyway.
    """
    given = {(file.path, file.sha256) for file in task.files}
    return [
        d
        for d in outcome.deliverables
        if service_of(d.name, task.services) is None
        and not task.is_answer(d.name)
        and (d.name, d.sha256) not in given
    ]


def _is_there_somehow(name: str, outcome: TrialOutcome, task: Task) -> bool:
    """Whether a deliverable arrived unreadable, misnamed, or was refused on collection."""
    if name == ANSWER:
        return False
    delivered = {d.name for d in outcome.deliverables}
    refused = any(name in text for text in outcome.rejected_files)
    _missing_names, misnamed = _missing(task, outcome)
    type_ = PurePosixPath(name).suffix.lower()
    return (
        name in delivered
        or refused
        or any(PurePosixPath(other).suffix.lower() == type_ for other in misnamed)
    )


def _shares(node: NodeScore, share: float) -> list[tuple[str, float, float]]:
    """Return id, score and share of the root score of each scored leaf below `node`."""
    if node.leaf is not None:
        scored = node.leaf.score
        return [] if scored is None else [(node.leaf.leaf_id, scored, share)]
    seen = sum(child.weight * child.coverage for child in node.children)
    return [
        leaf
        for child in node.children
        if child.weight * child.coverage > 0
        for leaf in _shares(child, share * child.weight * child.coverage / seen)
    ]


def _looked_at(leaf: Checkpoint) -> set[str]:
    if (check := checked_by_code(leaf.verifier)) is not None:
        return {check.deliverable or ANSWER}
    if isinstance(leaf.verifier, Judge):
        return set(leaf.verifier.deliverables) or {ANSWER}
    return {ANY_FILE} if isinstance(leaf.verifier, ScriptCheck) else set()


def _broken(node: NodeScore, threshold: float) -> list[str]:
    if node.leaf is not None:
        return []
    below = [n for child in node.children for n in _broken(child, threshold)]
    scores = [n.leaf.score for n in node.nodes() if n.leaf and n.leaf.score is not None]
    most_hold = sum(s > threshold for s in scores) * 2 > len(scores)
    fails = node.score is not None and node.score <= threshold
    return [node.id, *below] if fails and most_hold else below
