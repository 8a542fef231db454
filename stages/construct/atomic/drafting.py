"""Converts a filled-in form to the draft of an atomic task, or reports the form's faults."""

from collections.abc import Iterator

from pydantic import ValidationError

from environments.tool_runtime.catalogue import catalogue
from environments.tool_runtime.toolbox import ALWAYS_PRESENT
from environments.tools.session.finish import FINISH
from stages.construct.atomic.answer import answer_of, given_away, misstated, tree_of
from stages.construct.atomic.form import AtomicForm
from stages.construct.atomic.ways import Way, answering_tools, disobeyed, involved_tools
from stages.construct.proof.chain_form import solution_of
from stages.score.matching import fold
from taskdata.banks.loader import describe
from taskdata.errors import BadTaskData
from taskdata.schema.construct import TaskDraft
from taskdata.schema.task import Task


def groups_of(form: AtomicForm) -> tuple[tuple[str, ...], ...]:
    """Return the statements of a right answer, each with its possible wordings."""
    return tuple(statement.ways_to_say_it for statement in form.states)


def drafted(form: AtomicForm, exemplar: Task, way: Way) -> TaskDraft:
    """Return the draft that a form describes; its chain is not recorded yet.

    Raises:
        BadTaskData: if the form breaks rules of the expansion; the message names all of them.
    """
    faults = [*_tool_faults(form, exemplar, way), *_question_faults(form, exemplar)]
    if faults:
        raise BadTaskData("; ".join(faults))
    groups = groups_of(form)
    known = catalogue()
    used = dict.fromkeys(step.tool for step in form.steps)
    offered = {*exemplar.tools, *form.tools}
    try:
        return TaskDraft(
            title=form.title,
            query=form.query,
            category=form.category,
            capabilities=tuple(dict.fromkeys(known[name].spec.category for name in used)),
            human_minutes=exemplar.human_minutes,
            files=form.files,
            # In the order of the catalogue, which reveals nothing about the solution.
            tools=tuple(name for name in known if name in offered),
            checkpoints=tree_of(groups, form.wrong, form.references),
            answer=answer_of(groups, form.wrong, form.references),
            reference=solution_of(form.steps, form.final_answer),
        )
    except ValidationError as exc:
        raise BadTaskData(describe(exc)) from exc


def _tool_faults(form: AtomicForm, exemplar: Task, way: Way) -> Iterator[str]:
    listed = set(form.tools) - set(ALWAYS_PRESENT)
    used = {step.tool for step in form.steps}
    allowed = {*answering_tools(), *involved_tools(exemplar)}
    if unknown := sorted(listed - allowed):
        yield f"tools: {unknown} cannot be chosen; there are {sorted(allowed)}"
    if FINISH in used:
        yield f"steps: {FINISH} is no step; the final answer has a field of its own"
    if unlisted := sorted(used - listed - set(ALWAYS_PRESENT)):
        yield f"steps: {unlisted} are not among `tools`"
    if idle := sorted(listed - used):
        yield f"tools: {idle} are in no step"
    if fault := disobeyed(way, involved_tools(exemplar), listed):
        yield f"tools: {fault}"


def _question_faults(form: AtomicForm, exemplar: Task) -> Iterator[str]:
    present = {file.path for file in exemplar.files}
    if strange := sorted(set(form.files) - present):
        yield f"files: {strange} are not among {sorted(present)}"
    if present and not form.files:
        yield "files: the question must be about some of the files"
    if fold(form.query) == fold(exemplar.query):
        yield "query: it is the finished question itself"
    is_subjective = form.answer_kind == "subjective"
    if is_subjective != (len(form.references) == 3) or (form.references and not is_subjective):
        yield "references: three for a subjective answer, none for an objective one"
    if is_subjective and form.wrong:
        yield "wrong: only for an objective answer"
    groups = groups_of(form)
    if blank := [alias for group in (*groups, form.wrong) for alias in group if not fold(alias)]:
        yield f"states, wrong: {blank[0]!r} holds no text"
        return
    if given_away(groups, form.query):
        yield "states: the question itself says all of it"
    answers = {"final_answer": form.final_answer}
    answers |= {f"references {n}": text for n, text in enumerate(form.references, start=1)}
    for name, text in answers.items():
        if fault := misstated(groups, form.wrong, text):
            yield f"{name}: {fault}"
