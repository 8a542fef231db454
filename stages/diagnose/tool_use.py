"""Faults of tool use that are visible in the record (TOBench, appendix D, table 4).

The record does not show how an agent perceived pictures, sound and video, so no rule here decides
these labels. Faults of parameters are in `parameters`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

from stages.diagnose.parameters import NO_OBJECT, parameter_labels
from stages.diagnose.record import Call, Record, label, of_call
from stages.diagnose.signals import LeafSignal, one_line
from taskdata.schema.checkpoint import Check, Judge, ToolResultCheck
from taskdata.schema.diagnosis import Evidence, Label, Taxonomy
from taskdata.schema.self_verification import VISIBLE, SelfVerification, verification_of
from taskdata.schema.task import Tier
from taskdata.schema.tool import ToolErrorKind
from taskdata.schema.transcript import Ending, MessageEvent, ToolEvent

_TEXT_WRITER, _TEXT_READER = "write_file", "read_file"
_BINARY = frozenset(
    {".docx", ".pptx", ".xlsx", ".pdf", ".png", ".jpg", ".jpeg", ".gif", ".webp"}
    | {".wav", ".mp3", ".flac", ".ogg", ".mp4", ".mov", ".webm"}
)
_NO_READERS = frozenset({_TEXT_WRITER, "list_files", "Calculator", "Solver"})
"""Tools that read no content of a file, whatever their arguments."""
_NAMED_FILES = 3
_REPEATED_FAILURES = 3
_FACT, _LIKELY, _CONCLUDED = 1.0, 0.9, 0.7
_FAULTS = {
    SelfVerification.NONE: "no_verification",
    SelfVerification.EXISTENCE: "pseudo_verification",
}
_INCOMPLETE = "incomplete_verification"
_SAYS = {
    "no_verification": "no call used or listed the file after its last change",
    "pseudo_verification": "after its last change the file was listed or read, never looked at",
    _INCOMPLETE: "an earlier state of the file was looked at, the last one was not",
}


def tool_use_labels(record: Record) -> tuple[Label, ...]:
    """Return the labels of tool use that fit a failed trial, each at most once."""
    ended = _base_model(record)
    if not record.transcript.calls_are_known:
        return ended
    return (
        *_hallucinated_tools(record),
        *_wrong_tools(record),
        *_missing_tools(record),
        *_same_failed_plan(record),
        *parameter_labels(record),
        *_verification(record),
        *ended,
    )


def _hallucinated_tools(record: Record) -> tuple[Label, ...]:
    unknown = [c for c in record.calls if c.event.error is ToolErrorKind.UNKNOWN_TOOL]
    told = "no tool of that name was on offer"
    return _label("hallucinated_tool", _FACT, (of_call(call, told) for call in unknown))


def _wrong_tools(record: Record) -> tuple[Label, ...]:
    """Return the label if a tool for text was used on an office file, PDF, picture or recording."""
    broken = set(record.signals.unreadable)
    found = []
    for call in record.calls:
        ending = PurePosixPath(_path(call)).suffix.lower()
        if ending not in _BINARY:
            continue
        name = _path(call).removeprefix("output/")
        tool, was_refused = call.event.call.tool, call.event.error is ToolErrorKind.REFUSED
        is_absent = tool == _TEXT_READER and NO_OBJECT.search(call.event.text)
        if tool in (_TEXT_WRITER, _TEXT_READER) and was_refused and not is_absent:
            found.append(of_call(call))
        elif tool == _TEXT_WRITER and name in broken:
            found.append(of_call(call, f"wrote text as {ending}; the file could not be read"))
    return _label("wrong_tool_selection", _LIKELY, found)


def _missing_tools(record: Record) -> tuple[Label, ...]:
    """Return the label if a necessary call was never made.

    Such a call is one whose result a leaf asks for, and, for an agent that ended its work itself,
    one that reads an input file. An agent that tried nothing gets no such label: its stage is
    `not_attempted` already.
    """
    if record.signals.tried_nothing:
        return ()
    asked = _label("missing_essential_tool", _LIKELY, _results_not_asked_for(record))
    return asked or _label("missing_essential_tool", _CONCLUDED, _unread_inputs(record))


def _results_not_asked_for(record: Record) -> list[Evidence]:
    called = {call.event.call.tool for call in record.calls}
    found = []
    for leaf in record.signals.leaves:
        verifier = leaf.checkpoint.verifier
        if leaf.holds or not isinstance(verifier, ToolResultCheck) or called & set(verifier.tools):
            continue
        told = f"none of {', '.join(verifier.tools)} was called"
        found.append(Evidence(says=told, leaf=leaf.checkpoint.id))
    return found


def _unread_inputs(record: Record) -> list[Evidence]:
    """Return the last turn if the agent ended its work and cannot have read its input files.

    An atomic task needs each of its few files; of another task the agent must have read none.
    """
    files = [PurePosixPath(file.path).name for file in record.task.files]
    was_shown = any(
        isinstance(event, MessageEvent) and event.shown for event in record.transcript.events
    )
    if not files or was_shown or record.transcript.ending is not Ending.FINISHED:
        return []
    others = [c for c in record.calls if not any(name in c.written for name in files)]
    if any(not _reads_nothing(call.event) for call in others):
        return []  # what these calls read cannot be told from their arguments
    unread = [name for name in files if not any(name in c.written for c in record.calls)]
    if not unread or (unread != files and record.task.tier is not Tier.ATOMIC):
        return []
    told = f"the work ended, and no call read {', '.join(unread[:_NAMED_FILES])}"
    return [Evidence(says=one_line(told), turn=len(record.turns) or None)]


def _reads_nothing(event: ToolEvent) -> bool:
    tool, is_unknown = event.call.tool, event.error is ToolErrorKind.UNKNOWN_TOOL
    return is_unknown or tool in _NO_READERS or tool.endswith("FileGenerator")


def _same_failed_plan(record: Record) -> tuple[Label, ...]:
    """Return the label if a call was repeated unchanged although it had failed."""
    failed: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in record.calls:
        if call.event.error is not None:
            failed[call.event.call.tool, call.written].append(call)
    found = [
        of_call(calls[-1], f"the same call failed {len(calls)} times")
        for calls in failed.values()
        if len(calls) >= _REPEATED_FAILURES
    ]
    return _label("tool_planning_error", _LIKELY, found)


def _verification(record: Record) -> tuple[Label, ...]:
    """Return the labels for files of failed leaves whose last state the agent did not look at.

    The confidence is that of a conclusion, because it is unknown whether a look would have helped.
    """
    faults: dict[str, list[Evidence]] = defaultdict(list)
    delivered = {file.name for file in record.outcome.deliverables}
    about = _leaves_by_deliverable(record.signals.leaves, delivered)
    for file in record.outcome.deliverables:
        failed = [leaf for leaf in about.get(file.name, ()) if not leaf.holds]
        is_asked = any(spec.matches(file.name) for spec in record.task.deliverables)
        has_a_look = PurePosixPath(file.name).suffix.lower() in VISIBLE
        if not is_asked or not has_a_look or (about.get(file.name) and not failed):
            continue
        fault = _fault(f"output/{file.name}", record)
        if fault is not None:
            name, last = fault
            leaf = failed[0].checkpoint.id if failed else None
            faults[name].append(
                Evidence(
                    says=_SAYS[name],
                    turn=None if last is None else last.turn,
                    call=None if last is None else of_call(last).call,
                    leaf=leaf,
                    deliverable=file.name,
                )
            )
    return tuple(one for name, found in faults.items() for one in _label(name, _CONCLUDED, found))


def _fault(path: str, record: Record) -> tuple[str, Call | None] | None:
    """Return the label and the recorded call that changed the file last; None: no fault."""
    events = [call.event for call in record.calls]
    level = verification_of(path, events)
    if level is SelfVerification.LOOKED:
        return None
    changes = [at for at, event in enumerate(events) if path in event.files]
    if not changes:
        return _FAULTS[level], None
    before = events[: changes[-1]]
    looked = len(changes) > 1 and verification_of(path, before) is SelfVerification.LOOKED
    return (_INCOMPLETE if looked else _FAULTS[level]), record.calls[changes[-1]]


def _leaves_by_deliverable(
    leaves: Iterable[LeafSignal], delivered: Collection[str]
) -> dict[str, list[LeafSignal]]:
    about: dict[str, list[LeafSignal]] = defaultdict(list)
    for leaf in leaves:
        verifier = leaf.checkpoint.verifier
        names: tuple[str, ...] = ()
        if isinstance(verifier, Check) and verifier.deliverable:
            names = (verifier.deliverable,)
        elif isinstance(verifier, Judge):
            names = verifier.deliverables
        elif isinstance(verifier, ToolResultCheck):
            names = tuple(name for name in verifier.contains if name in delivered)
        for name in names:
            about[name].append(leaf)
    return about


def _base_model(record: Record) -> tuple[Label, ...]:
    """Return the label if the provider refused to continue the conversation."""
    if record.transcript.ending is not Ending.REFUSED:
        return ()
    told = "the provider refused the conversation"
    last = Evidence(says=told, turn=len(record.turns) or None)
    return _label("agent_base_model_issue", _CONCLUDED, [last])


def _path(call: Call) -> str:
    arguments = call.event.call.arguments or {}
    path = arguments.get("path", "")
    return path if isinstance(path, str) else ""


def _label(name: str, confidence: float, evidence: Iterable[Evidence]) -> tuple[Label, ...]:
    return label(Taxonomy.TOOL_USE, name, confidence, evidence)
