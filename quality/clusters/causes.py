"""The cause of one failed trial, from its evidence.

What cost the most points says what is wrong: the check and the type of the deliverable, or that the
deliverable is missing or cannot be read. Where the work broke down before there was anything to
check, a label, the limits or the tool calls say why.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from quality.clusters import sentences
from taskdata.schema.checkpoint import Check, Checkpoint, Judge, ToolResultCheck, checked_by_code
from taskdata.schema.diagnosis import Diagnosis, FailureStage
from taskdata.schema.run import TrialOutcome, TrialResult
from taskdata.schema.scores import LeafScore, NodeScore
from taskdata.schema.service import service_of
from taskdata.schema.task import Task
from taskdata.schema.transcript import Ending

_CAUSE_LENGTH = 160
_TIME = r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
# In this order: what is longest and most particular first.
_PARTICULARS = (
    (re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s'\",;)]*[^\s'\",;:.)]", re.IGNORECASE), "<address>"),
    (re.compile(r"(?<![\w.])~?/[^\s'\",;:)]+"), "<path>"),
    (re.compile(_TIME), "<time>"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{18,}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b(?=[a-z_-]*\d)(?=[\d_-]*[a-z])[a-z0-9_-]{10,}\b", re.IGNORECASE), "<id>"),
    # Not in names of models, such as a-2.5-b.
    (re.compile(r"(?<![\w.-])-?\d+(?:[.,:-]\d+)*(?:\s?%)?(?![\d-])"), "<n>"),
)
_UNREADABLE = "the file cannot be read"
# A check that does not find where to look tells less of itself than of the file.
_STRUCTURE = (
    (re.compile(r"^no sheet "), "sheet", "lacks a sheet that was asked for"),
    (
        re.compile(r"^(no column |no table has the columns )"),
        "columns",
        "lacks columns that were asked for",
    ),
    (re.compile(r"^there is no table"), "table", "has no table"),
    (
        re.compile(r"at most \d+ expected|which must not be there|, which is wrong"),
        "ruled out",
        "has something that was ruled out",
    ),
    (re.compile(r"^there is no slide \d+"), "slides", "has too few slides"),
    (re.compile(r"^there is no page \d+"), "pages", "has too few pages"),
    (
        re.compile(r"^there (is|are) no (\w+ )?(text|data rows|header|slides|pages|sound)\b"),
        "content",
        "is empty where content was asked for",
    ),
)
_COMPLAINT = re.compile(r"\b(fail|failed|error|assert\w*|missing|wrong|mismatch)\b", re.IGNORECASE)
_NOT_THERE = re.compile(r"not found|does not exist|no such file|is missing", re.IGNORECASE)
_TEXT_TYPES = ("csv", "html", "json", "svg")
"""Types of files that are written as text, where one wrong character can spoil a file."""
_BROKE_DOWN = (FailureStage.PLAN, FailureStage.EXECUTE, FailureStage.NOT_ATTEMPTED)


class Cause(NamedTuple):
    """Why a trial failed: equal for failures that share a cause."""

    evidence: tuple[str, ...]
    """What is compared exactly."""
    sentence: str
    """What is wrong, in words."""
    why: str = ""
    """Why it came to that, in words; empty: nothing says so."""
    text: str = ""
    """Words of others in which equal causes may differ, normalised; mostly empty."""

    @property
    def key(self) -> str:
        """The cause as one text, the same in every night."""
        return "|".join((*self.evidence, self.text))

    @property
    def title(self) -> str:
        """The cause in one line."""
        first = f"{self.sentence}: {self.text}" if self.text else self.sentence
        if not self.why:
            return first
        return f"{first}; {self.why}" if ": " in first else f"{first}: {self.why}"


def normalised(cause: str) -> str:
    """Return the first line of an error's cause without what differs from trial to trial.

    Numbers, times, addresses, paths and ids are replaced by what they are, as in `<n> s`.
    """
    lines = cause.strip().splitlines()
    text = " ".join(lines[0].split()) if lines else "no cause was recorded"
    for pattern, name in _PARTICULARS:
        text = pattern.sub(name, text)
    return text[:_CAUSE_LENGTH]


def error_cause(result: TrialResult) -> str:
    """Return the normalised cause of a trial that was lost to an infrastructure error."""
    error = None if result.outcome is None else result.outcome.error
    return normalised(error or result.scoring_error or "")


def cause_of(result: TrialResult, task: Task) -> Cause | None:
    """Return why a trial failed or was lost; None if it did neither, or is not diagnosed."""
    if result.is_infrastructure_error:
        return Cause(("lost",), "Lost outside the agent", text=error_cause(result))
    diagnosis, outcome = result.diagnosis, result.outcome
    if diagnosis is None or diagnosis.stage is None or outcome is None:
        return None
    if diagnosis.stage is FailureStage.NOT_ATTEMPTED:
        found = Cause(("not_attempted",), sentences.NOT_ATTEMPTED)
    else:
        found = _costliest(result, task, outcome)
    if diagnosis.stage in _BROKE_DOWN or found.evidence[0] == "missing":
        return _with_reason(found, _why(diagnosis, outcome))
    return found


def _with_reason(cause: Cause, why: tuple[str, ...]) -> Cause:
    if not why or (cause.evidence == ("not_attempted",) and why[-1] == sentences.NO_CALL):
        return cause
    return cause._replace(evidence=(*cause.evidence, *why[:-1]), why=why[-1])


def _why(diagnosis: Diagnosis, outcome: TrialOutcome) -> tuple[str, ...]:
    """Return evidence of why nothing came of it, the words for it last; empty: nothing says so."""
    if outcome.tool_calls == 0 and outcome.turns is not None:
        if outcome.ending is Ending.STUCK:
            return ("stuck", sentences.STUCK)
        return ("no_call", sentences.NO_CALL)
    labels = {label.name: label for label in diagnosis.labels}
    for name, words in sentences.WHY.items():
        if name in labels:
            first = labels[name].evidence[0]
            tool = first.says.partition(":")[0] if first.call is not None else "a tool"
            named = (name, tool) if "{tool}" in words else (name,)
            return (*named, words.format(tool=tool))
    if outcome.ending is not None and outcome.ending.value in sentences.ENDINGS:
        return (outcome.ending.value, sentences.ENDINGS[outcome.ending.value])
    if outcome.tool_calls and 2 * (outcome.tool_errors or 0) > outcome.tool_calls:
        return ("calls_failed", sentences.MOST_CALLS_FAILED)
    return ()


def _costliest(result: TrialResult, task: Task, outcome: TrialOutcome) -> Cause:
    """Return the cause that cost most of the points, over the leaves that lost any."""
    missing, gone = _missing(task, outcome)
    leaves = {leaf.id: leaf for leaf in task.checkpoints.leaves()}
    lost: dict[Cause, float] = defaultdict(float)
    root = None if result.score is None else result.score.root
    for score, points in () if root is None else _points_lost(root, 1.0):
        leaf = leaves.get(score.leaf_id)
        if points > 0 and leaf is not None:
            lost[_of_leaf(leaf, score, task, missing, gone)] += points
    fallback = Cause(("unknown",), sentences.UNKNOWN)
    return max(lost, key=lambda cause: (lost[cause], cause), default=fallback)


def _missing(task: Task, outcome: TrialOutcome) -> tuple[set[str], Cause]:
    """Return the deliverables that did not arrive, and what to say of leaves about them."""
    delivered = {d.name for d in outcome.deliverables if not task.is_answer(d.name)}
    own = {name for name in delivered if service_of(name, task.services) is None}
    missing = {d.name for d in task.deliverables if not any(map(d.matches, delivered))}
    endings = {PurePosixPath(name).suffix.lower() for name in missing}
    asked = {d.name for d in task.deliverables}
    if any(PurePosixPath(name).suffix.lower() in endings for name in own - asked):
        return missing, Cause(("missing", "misnamed"), sentences.MISNAMED)
    if own:
        return missing, Cause(("missing", "some"), sentences.SOME_MISSING)
    return missing, Cause(("missing", "all"), sentences.NO_FILE)


def _of_leaf(
    leaf: Checkpoint, score: LeafScore, task: Task, missing: set[str], gone: Cause
) -> Cause:
    verifier = leaf.verifier
    check = checked_by_code(verifier)
    files = _files(leaf)
    if files and set(files) <= missing:
        return gone
    kind = _kind(files[0], task) if files else None
    about = sentences.subject(kind)
    if score.reason.startswith(_UNREADABLE) and kind is not None:
        if kind in _TEXT_TYPES:
            return Cause(("unreadable", kind), f"{about} is not valid {kind.upper()}")
        return Cause(("unreadable",), sentences.UNREADABLE)
    if check is not None:
        return _of_check(check, score.reason, kind)
    if isinstance(verifier, Judge):
        return Cause(("judge", kind or "answer"), f"{about} does not satisfy the judge")
    if isinstance(verifier, ToolResultCheck):
        tools = " or ".join(verifier.tools[:3])
        if score.reason.startswith("no call of"):
            return Cause(("tool_result", "none", tools), f"No call of {tools} succeeded")
        return Cause(("tool_result", tools), f"No result of {tools} has what was asked for")
    return _of_program(score.reason)


def _of_program(reason: str) -> Cause:
    """Return what the first complaint of a task's own program comes to."""
    complaint = next(filter(_COMPLAINT.search, reason.splitlines()), "")
    if _NOT_THERE.search(complaint):
        return Cause(("missing", "program"), sentences.PROGRAM_MISSES_FILE)
    text = normalised(complaint) if complaint else ""
    return Cause(("program",), sentences.PROGRAM_REFUSED, text=text)


def _of_check(check: Check, reason: str, kind: str | None) -> Cause:
    about = sentences.subject(kind)
    for pattern, thing, words in _STRUCTURE:
        if pattern.search(reason):
            return Cause(("structure", thing, kind or "answer"), f"{about} {words}")
    words = sentences.CHECKS.get(check.name, f"fails the check {check.name}")
    # Checks that find the same wrong are one cause: a table is a table.
    return Cause(("check", words, kind or "answer"), f"{about} {words}")


def _files(leaf: Checkpoint) -> tuple[str, ...]:
    """Return the names of the deliverables that a leaf is about; empty: the final answer."""
    check = checked_by_code(leaf.verifier)
    if check is not None:
        return () if check.deliverable is None else (check.deliverable,)
    return leaf.verifier.deliverables if isinstance(leaf.verifier, Judge) else ()


def _kind(name: str, task: Task) -> str:
    """Return the type of a deliverable by its name."""
    if service_of(name, task.services) is not None:
        return sentences.STATE
    types = {spec.name: spec.type.value for spec in task.deliverables}
    return types.get(name) or PurePosixPath(name).suffix.lower().lstrip(".") or "unnamed"


def _points_lost(node: NodeScore, share: float) -> Iterator[tuple[LeafScore, float]]:
    """Yield each scored leaf with the points of the root score (0-10) that it lost."""
    if node.leaf is not None:
        if node.leaf.score is not None:
            yield node.leaf, share * (10 - node.leaf.score)
        return
    seen = sum(child.weight * child.coverage for child in node.children)
    for child in node.children:
        part = child.weight * child.coverage
        if part > 0:
            yield from _points_lost(child, share * part / seen)
