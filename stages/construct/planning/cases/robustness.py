"""Cases with extraneous tools, a broken tool or no solution, each made from a base case.

The words are a model's or an author's (`written.py`); code checks what it can tell about them
(APB, appendix B.4).
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from stages.construct.planning.cases.extraction import (
    chain_of,
    prefix_of,
    rules_of,
    said_of,
    scene,
)
from stages.construct.planning.trajectory import Trajectory
from stages.construct.planning.written import (
    DistractorsForm,
    InfeasibleForm,
    SubstituteForm,
    ToolForm,
)
from taskdata.errors import BadTaskData
from taskdata.schema.planning import (
    CaseTool,
    Form,
    GradeRule,
    Infeasibility,
    PlannedAction,
    PlanningCase,
    PlanReference,
    Setting,
    ToolRole,
)
from taskdata.schema.task import Task

_WORDS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_LEAST_WORD = 3
"""Shorter words say nothing about what a tool deals with."""
_COMMON = frozenset(
    {
        "all",
        "and",
        "any",
        "are",
        "but",
        "can",
        "each",
        "file",
        "for",
        "from",
        "give",
        "given",
        "have",
        "her",
        "his",
        "how",
        "into",
        "its",
        "make",
        "need",
        "not",
        "one",
        "our",
        "out",
        "please",
        "return",
        "tell",
        "than",
        "that",
        "the",
        "them",
        "then",
        "there",
        "they",
        "this",
        "two",
        "what",
        "when",
        "where",
        "which",
        "who",
        "with",
        "you",
        "your",
    }
)
LEAST_SHARED_WORDS = 2
"""A distractor is similar if it has so many words in common with the query and the own tools."""
MOST_ALIKE = 0.75
"""Two names or descriptions that are more alike than this (0-1) count as the same."""


def extraneous(
    task: Task, base: Task, written: DistractorsForm, number: int, version: str
) -> PlanningCase:
    """Return the base case with the first `number` distractors among its tools.

    Raises:
        BadTaskData: if a distractor is not similar, or is as good as a tool of the case.
    """
    case = require_case(base)
    chosen = written.tools[:number]
    require_distractors(task, case, chosen)
    tools = (*case.tools, *(tool.as_tool(ToolRole.DISTRACTOR) for tool in chosen))
    return _varied(
        case,
        base.id,
        version,
        setting=Setting.EXTRANEOUS,
        # By name, so that the place in the list does not tell which tools are distractors.
        tools=tuple(sorted(tools, key=lambda tool: tool.name.lower())),
    )


def broken(
    task: Task,
    trajectory: Trajectory,
    sentences: Sequence[str],
    base: Task,
    written: SubstituteForm,
    version: str,
) -> PlanningCase:
    """Return the case in which the tool of one step has failed for good and a substitute is there.

    Raises:
        BadTaskData: if there is no such step, or the substitute's name is near that of the tool.
    """
    case = require_case(base)
    if written.step > len(trajectory.steps):
        raise BadTaskData(
            f"step: {written.step} is not among the {len(trajectory.steps)} steps of {task.id!r}"
        )
    failed = trajectory.steps[written.step - 1]
    require_new_names(case, (written.tool,))
    if _likeness(written.tool.name, failed.tool) > MOST_ALIKE:
        raise BadTaskData(f"tool: {written.tool.name!r} is too near the name of {failed.tool!r}")
    substitute = written.tool.as_tool(ToolRole.SUBSTITUTE, (failed.tool,))
    said = said_of(trajectory, sentences)
    (planned,) = chain_of((failed,), (said[written.step - 1],), results_are_known=True)
    prefix = prefix_of(trajectory, written.step - 1)
    return _varied(
        case,
        base.id,
        version,
        setting=Setting.BROKEN,
        tools=tuple(sorted((*case.tools, substitute), key=lambda tool: tool.name.lower())),
        prefix=(*prefix, failed.model_copy(update={"result": written.error, "failed": True})),
        horizon=1,
        form=Form.STEP_WISE,
        broken_tool=failed.tool,
        reference=PlanReference(
            chain=(_by_substitute(planned, substitute),),
            rules=(_another_way(task, planned, substitute),),
            ends=written.step == len(trajectory.steps),
        ),
    )


def _by_substitute(planned: PlannedAction, substitute: CaseTool) -> PlannedAction:
    """Return the action as a call of the substitute."""
    arguments = _for_substitute(substitute, planned.arguments, planned.rationale)
    return planned.model_copy(update={"tool": substitute.name, "arguments": arguments})


def _another_way(task: Task, planned: PlannedAction, substitute: CaseTool) -> GradeRule:
    """Return the rule that the action's result is had without the action's own tool."""
    broken_tool = planned.tool
    others = (t for r in rules_of(task, (planned,)) for t in r.tools if broken_tool in r.tools)
    return GradeRule(
        requirement=f"It gets by another way what {broken_tool} was to give: {planned.rationale}",
        tools=tuple(dict.fromkeys((substitute.name, *(t for t in others if t != broken_tool)))),
    )


def unsolvable(
    task: Task, base: Task, written: InfeasibleForm, version: str
) -> tuple[PlanningCase, str]:
    """Return the case that must be refused, and its query.

    Raises:
        BadTaskData: if the text does not fit the kind of infeasibility.
    """
    case = require_case(base)
    _require_fitting(task, case, written)
    gone = written.kind is Infeasibility.INACCESSIBLE_EVIDENCE
    made = _varied(
        case,
        base.id,
        version,
        setting=Setting.UNSOLVABLE,
        tools=tuple(tool for tool in case.tools if tool.name not in written.removed),
        media=() if gone else case.media,
        system_prompt=scene(task, files_gone=gone),
        reference=PlanReference(
            refusal=written.refusal,
            rules=(GradeRule(requirement=f"It refuses and says why: {written.refusal}"),),
        ),
        infeasibility=written.kind,
        proof=written.proof,
    )
    added = written.query.strip()
    return made, f"{task.query.rstrip()}\n\n{added}" if added else task.query


def require_case(base: Task) -> PlanningCase:
    """Return the planning case of a task that is one.

    Raises:
        BadTaskData: if it is none.
    """
    if base.planning is None:
        raise BadTaskData(f"task {base.id!r}: is no planning case, so it is no base of one")
    return base.planning


def require_new_names(case: PlanningCase, tools: Sequence[ToolForm]) -> None:
    """Refuse tools whose names the case, or one of them, has already.

    Raises:
        BadTaskData: names the tool.
    """
    taken = {tool.name.lower() for tool in case.tools}
    for tool in tools:
        if tool.name.lower() in taken:
            raise BadTaskData(f"tool {tool.name!r}: there is a tool of that name; give another")
        taken.add(tool.name.lower())


def require_distractors(task: Task, case: PlanningCase, tools: Sequence[ToolForm]) -> None:
    """Refuse distractors that are of another scene, or that do what a tool of the case does.

    Raises:
        BadTaskData: names the tool and what to mend.
    """
    require_new_names(case, tools)
    known = _words_of(task.query, task.title, *(f"{t.name} {t.description}" for t in case.tools))
    wanted = [spec.name.lower() for spec in task.deliverables]
    for tool in tools:
        shared = _words_of(tool.name, tool.description) & known
        if len(shared) < LEAST_SHARED_WORDS:
            raise BadTaskData(
                f"tool {tool.name!r}: shares {len(shared)} words with query and tools, fewer than "
                f"{LEAST_SHARED_WORDS}; a distractor belongs to the scene of the query"
            )
        if made := [name for name in wanted if name in tool.description.lower()]:
            raise BadTaskData(f"tool {tool.name!r}: makes {made[0]}, which the query asks for")
        alike = [t.name for t in case.tools if _alike(tool, t)]
        if alike:
            raise BadTaskData(f"tool {tool.name!r}: does what {alike[0]} does")


def _require_fitting(task: Task, case: PlanningCase, written: InfeasibleForm) -> None:
    keeps = written.kind is Infeasibility.INACCESSIBLE_EVIDENCE
    removes = written.kind is Infeasibility.TOOL_REMOVAL
    if keeps == bool(written.query.strip()):
        what = "the query stays as it is" if keeps else "the query needs an added sentence"
        raise BadTaskData(f"query: of kind {written.kind} {what}")
    if removes != bool(written.removed):
        what = "name the tools that go" if removes else "no tool goes"
        raise BadTaskData(f"removed: of kind {written.kind} {what}")
    if keeps and not task.files:
        raise BadTaskData(f"kind: task {task.id!r} has no files that could be gone")
    names = {tool.name for tool in case.tools}
    if unknown := sorted(set(written.removed) - names):
        raise BadTaskData(f"removed: {unknown[0]!r} is not among the tools {sorted(names)}")
    needed = {action.tool for action in case.reference.chain}
    if removes and not needed & set(written.removed):
        raise BadTaskData("removed: none of these tools is needed; take away one that is")
    if removes and (named := [n for n in written.removed if n.lower() in written.query.lower()]):
        raise BadTaskData(f"query: names {named[0]!r}; describe the capability instead")


def _varied(case: PlanningCase, base_id: str, version: str, **fields: object) -> PlanningCase:
    """Return the case with these fields, validated, and with its base in its origin."""
    prefix = fields.get("prefix", case.prefix)
    taken = len(prefix) if isinstance(prefix, tuple) else 0
    origin = case.origin.model_copy(
        update={"transformation": version, "base_case": base_id, "position": taken}
    )
    same = {name: getattr(case, name) for name in type(case).model_fields}
    return PlanningCase.model_validate(same | fields | {"origin": origin})


_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


def _for_substitute(tool: CaseTool, arguments: dict[str, object], why: str) -> dict[str, object]:
    """Return arguments for the substitute: the old ones by name, then in order, else words.

    A number where no number was given is 1.
    """
    properties = tool.parameters["properties"]
    left = {name: value for name, value in arguments.items() if name not in properties}
    chosen = dict[str, object]()
    for name, schema in properties.items():
        kind = _KINDS[schema["type"]]
        if isinstance(arguments.get(name), kind):
            chosen[name] = arguments[name]
            continue
        taken = next((other for other, value in left.items() if isinstance(value, kind)), None)
        spare = {"string": f"({why})", "boolean": True}.get(schema["type"], 1)
        chosen[name] = spare if taken is None else left.pop(taken)
    return chosen


def _alike(tool: ToolForm, other: CaseTool) -> bool:
    return _likeness(tool.description, other.description) > MOST_ALIKE


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.lower(), other.lower(), autojunk=False).ratio()


def _words_of(*texts: str) -> set[str]:
    found = (word.lower().rstrip("s") for text in texts for word in _WORDS.findall(text))
    return {word for word in found if len(word) >= _LEAST_WORD and word not in _COMMON}
