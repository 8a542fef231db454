"""Step-wise and holistic cases, cut from a trajectory by code (APB, appendix B.3).

A model, or the author of a bank, writes the words of a plan; the tool chain, the tools offered and
the grade rules are derived here.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from environments.tool_runtime.catalogue import catalogue
from environments.tools.session.finish import FINISH
from stages.construct.assembling import case_provenance
from stages.construct.planning.trajectory import Trajectory
from taskdata.errors import BadTaskData
from taskdata.schema.checkpoint import Checkpoint, PlanGrade
from taskdata.schema.planning import (
    CaseOrigin,
    CaseTool,
    Form,
    GradeRule,
    Modality,
    PlannedAction,
    PlanningCase,
    PlanReference,
    PrefixStep,
    Setting,
)
from taskdata.schema.task import Task, Tier

IN_WORDS = 160
"""An argument of a reference chain with so many characters or more is given in words."""

_MEDIA = {
    Modality.VIDEO: {".mp4", ".mov", ".webm", ".mkv"},
    Modality.AUDIO: {".wav", ".mp3", ".flac", ".ogg", ".m4a"},
    Modality.IMAGE: {".png", ".jpg", ".jpeg", ".gif", ".webp"},
}
_TEXTS = {".txt", ".md", ".csv", ".json", ".html", ".htm", ".xml", ".yaml"}
_MAX_TITLE = 200
_LOOKS_ROUND = "list_files"
_RUNS_CODE = "python_execute"
_READS_TEXT = "read_file"
_WRITES_TEXT = "write_file"
_OF_RESULTS = frozenset({"expression", "x", "series"})
"""Arguments whose values come from results of earlier steps, which no plan can know."""
_OF_TEXTS = frozenset({"equations", "unknowns"})
"""Such arguments whose values are lists of texts."""
_COMPUTES = ("Calculator", "Solver", _RUNS_CODE)
_MAKES = {
    "DocxFileGenerator": {".docx"},
    "XlsxFileGenerator": {".xlsx"},
    "PptxFileGenerator": {".pptx"},
    "PdfFileGenerator": {".pdf"},
    "HtmlFileGenerator": {".html", ".htm"},
    "CsvFileGenerator": {".csv"},
    "Plot": {".png", ".jpg", ".jpeg"},
    _WRITES_TEXT: _TEXTS,
}


def holistic(
    task: Task, trajectory: Trajectory, sentences: Sequence[str], version: str
) -> PlanningCase:
    """Return the case that asks for the whole plan and its tool chain.

    Args:
        task: The task that the trajectory solved.
        trajectory: Its steps.
        sentences: The plan in words, one for each step; empty: the trajectory's own thoughts.
        version: Name and version of the construction step.

    Raises:
        BadTaskData: if there are not as many sentences as steps.
    """
    said = said_of(trajectory, sentences)
    chain = chain_of(trajectory.steps, said, results_are_known=False)
    return PlanningCase(
        setting=Setting.HOLISTIC,
        form=Form.HOLISTIC,
        system_prompt=scene(task),
        tools=tools_of(task),
        media=media_of(task),
        reference=PlanReference(plan=said, chain=chain, rules=rules_of(task, chain), ends=True),
        modality=modality_of(task),
        origin=_origin(trajectory, version),
    )


def step_wise(
    task: Task,
    trajectory: Trajectory,
    sentences: Sequence[str],
    position: int,
    horizon: int,
    version: str,
) -> PlanningCase:
    """Return the case that asks for the next `horizon` actions after `position` steps.

    Raises:
        BadTaskData: if the trajectory is too short, or there are not as many sentences as steps.
    """
    if position + horizon > len(trajectory.steps):
        raise BadTaskData(
            f"task {task.id!r}: {horizon} actions after step {position} do not fit into a "
            f"trajectory of {len(trajectory.steps)}"
        )
    said = said_of(trajectory, sentences)
    chain = chain_of(trajectory.steps, said, results_are_known=True)
    following = chain[position : position + horizon]
    ends = position + horizon == len(chain)
    return PlanningCase(
        setting=Setting.STEP_WISE,
        form=Form.STEP_WISE,
        system_prompt=scene(task),
        tools=tools_of(task),
        media=media_of(task),
        prefix=prefix_of(trajectory, position),
        horizon=horizon,
        reference=PlanReference(
            chain=following, rules=(_step_rule(task, chain[position:], following),), ends=ends
        ),
        modality=modality_of(task),
        origin=_origin(trajectory, version, position),
    )


def as_task(task: Task, case_id: str, case: PlanningCase, query: str = "") -> Task:
    """Return the case as a task of the bank: its files, domain and licence are the source's.

    The source task is the case's provenance.

    Args:
        task: The task that the case was made from.
        case_id: Id of the case.
        case: The case.
        query: What the user asks; empty: what the source task asks.
    """
    asked = f"Next {case.horizon}" if case.horizon else "Plan"
    own = [tool.name for tool in case.tools if tool.name in catalogue()]
    return Task(
        id=case_id,
        tier=Tier.PLANNING,
        category=task.category,
        capabilities=task.capabilities,
        # The title says no more than every planner sees.
        title=f"{asked}: {task.title}"[:_MAX_TITLE],
        query=query or task.query,
        human_minutes=5,
        files=tuple(f for f in task.files if _is_at_hand(case)),
        tools=tuple(own) or (FINISH,),
        checkpoints=Checkpoint(
            id="plan", requirement="The plan is free of errors.", verifier=PlanGrade()
        ),
        provenance=case_provenance(task),
        planning=case,
    )


def tools_of(task: Task) -> tuple[CaseTool, ...]:
    """Return the tools that the task offers, as a planner sees them.

    Raises:
        BadTaskData: if the task offers a tool that is not in the catalogue.
    """
    known = catalogue()
    unknown = sorted(set(task.tools) - known.keys())
    if unknown:
        raise BadTaskData(f"task {task.id!r}: tool {unknown[0]!r} is not in the catalogue")
    specs = [known[name].spec for name in task.tools if name != FINISH]
    return tuple(
        CaseTool(name=spec.name, description=spec.description, parameters=_planned(spec.parameters))
        for spec in specs
    )


def said_of(trajectory: Trajectory, sentences: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each step: those given, or else what was thought or called.

    Raises:
        BadTaskData: if there are not as many sentences as steps.
    """
    if sentences and len(sentences) != len(trajectory.steps):
        raise BadTaskData(
            f"task {trajectory.task_id!r}: {len(sentences)} sentences for "
            f"{len(trajectory.steps)} steps; each step needs one"
        )
    if sentences:
        return tuple(sentences)
    return tuple(step.rationale or _called(step) for step in trajectory.steps)


def chain_of(
    steps: Iterable[PrefixStep], said: Iterable[str], *, results_are_known: bool
) -> tuple[PlannedAction, ...]:
    """Return the steps as planned actions, with some of their arguments in words.

    These are long arguments and, unless `results_are_known` to the planner, those whose values come
    from results of earlier steps.
    """
    return tuple(
        PlannedAction(
            tool=step.tool,
            arguments={
                name: _in_words(name, value, why, results_are_known=results_are_known)
                for name, value in step.arguments.items()
            },
            rationale=why,
        )
        for step, why in zip(steps, said, strict=True)
    )


def prefix_of(trajectory: Trajectory, position: int) -> tuple[PrefixStep, ...]:
    """Return the first steps of the trajectory with their results."""
    return trajectory.steps[:position]


def rules_of(
    task: Task, chain: Sequence[PlannedAction], *, code_opens_files: bool = True
) -> tuple[GradeRule, ...]:
    """Return what every correct plan for the task does, with the tools that can do it.

    Args:
        task: The task.
        chain: A correct tool chain for it.
        code_opens_files: Whether code that the planner runs may read the input files itself.
    """
    offered = [name for name in task.tools if name != FINISH]
    code = (_RUNS_CODE,) if code_opens_files else ()
    read: dict[str, set[str]] = {}
    for action in chain:
        path = str(action.arguments.get("path", ""))
        if path.startswith("input/") and action.tool != _LOOKS_ROUND:
            others = (_READS_TEXT,) if _ending(path) in _TEXTS else ()
            read.setdefault(path, set()).update({action.tool, *others, *code})
    rules = [
        GradeRule(
            requirement=f"It reads {path} before it relies on what the file says.",
            tools=_among(offered, tools),
        )
        for path, tools in read.items()
    ]
    for wanted in task.deliverables:
        what = (wanted.description or wanted.type.value).rstrip(".")
        makers = {tool for tool, endings in _MAKES.items() if _ending(wanted.name) in endings}
        rules.append(
            GradeRule(
                requirement=f"It makes {wanted.name}: {what}.",
                tools=_among(offered, {*makers, _RUNS_CODE}),
            )
        )
    if not task.deliverables and any(action.tool in _COMPUTES for action in chain):
        rules.append(
            GradeRule(
                requirement="It works out the answer from what was read.",
                tools=_among(offered, _COMPUTES),
            )
        )
    rules.append(GradeRule(requirement=f"In the end: {task.checkpoints.requirement}"[:1_000]))
    return tuple(rules)


def scene(task: Task, *, files_gone: bool = False) -> str:
    """Return what the planner is told about its place beside the query."""
    listed = ", ".join(f"input/{file.path}" for file in task.files)
    at_hand = "There is no file in input/." if files_gone or not listed else f"In input/: {listed}."
    return (
        "You plan work with tools for a user. The user's files are in the folder input/; what is "
        f"made for the user goes to output/. {at_hand}"
    )


def media_of(task: Task) -> tuple[str, ...]:
    """Return the files that a planner can look at or listen to."""
    endings = set[str]().union(*_MEDIA.values())
    return tuple(file.path for file in task.files if _ending(file.path) in endings)


def modality_of(task: Task) -> Modality:
    """Return the richest medium among the task's files."""
    endings = {_ending(file.path) for file in task.files}
    found = (modality for modality, own in _MEDIA.items() if endings & own)
    return next(found, Modality.TEXT)


def _origin(trajectory: Trajectory, version: str, position: int = 0) -> CaseOrigin:
    return CaseOrigin(
        task_id=trajectory.task_id,
        task_hash=trajectory.task_hash,
        trial_id=trajectory.trial_id,
        transformation=version,
        position=position,
        length=len(trajectory.steps),
    )


def _is_at_hand(case: PlanningCase) -> bool:
    return "There is no file in input/." not in case.system_prompt


def _step_rule(
    task: Task, left: Sequence[PlannedAction], asked: Sequence[PlannedAction]
) -> GradeRule:
    due = " ".join(action.rationale for action in asked)
    others = (tool for rule in rules_of(task, left) for tool in rule.tools)
    return GradeRule(
        requirement=f"Each action brings the task forward from where it stands, such as: {due}"[
            :1_000
        ],
        tools=tuple(dict.fromkeys((*(action.tool for action in left), *others))),
    )


def _planned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool for plans: nested content may be given in words."""
    properties = {
        name: _content(value) if "$ref" in json.dumps(value) or _is_nested(value) else value
        for name, value in schema.get("properties", {}).items()
    }
    return {**{k: v for k, v in schema.items() if k != "$defs"}, "properties": properties}


def _is_nested(value: Mapping[str, Any]) -> bool:
    items = value.get("items", {})
    return value.get("type") == "object" or (
        bool(items)
        and items.get("type")
        not in (
            "string",
            "number",
            "integer",
        )
    )


def _content(value: Mapping[str, Any]) -> dict[str, Any]:
    about = str(value.get("description", "")).strip()
    return {
        "type": ["string", "array", "object"],
        "description": f"{about} In a plan it may be said in words.".strip(),
    }


def _in_words(name: str, value: Any, why: str, *, results_are_known: bool) -> Any:
    if not results_are_known and name in _OF_TEXTS:
        return [f"({why})"]
    if not results_are_known and name in _OF_RESULTS:
        return f"({why})"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) < IN_WORDS else f"({why})"


def _called(step: PrefixStep) -> str:
    on = next((str(value) for value in step.arguments.values()), "")
    short = on if len(on) < IN_WORDS else ""
    return f"Call {step.tool}" + (f" on {short}." if short else ".")


def _among(offered: Sequence[str], tools: Iterable[str]) -> tuple[str, ...]:
    wanted = set(tools)
    return tuple(name for name in offered if name in wanted)


def _ending(path: str) -> str:
    return PurePosixPath(path).suffix.lower()
