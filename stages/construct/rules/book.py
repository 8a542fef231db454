"""All rules together: for a model's answer, for validation, and for a reviewer."""

from collections.abc import Callable, Collection

from environments.tool_runtime.catalogue import catalogue
from quality.suites.tasks import ALWAYS_ALLOWED
from quality.tool_names import tools_named
from stages.construct.assembling import assembled, available_files
from stages.construct.planning.cases.rules import faults_of
from stages.construct.rules.task import task_violations
from stages.construct.rules.tree import tree_violations
from stages.construct.rules.violation import Rulebook, Violation, counted
from stages.construct.rules.wording import query_wording, tree_wording
from taskdata.errors import BadTaskData
from taskdata.schema.construct import Candidate, Origin, TaskDraft
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.store import Store

_TOLD = 8


def violations(draft: TaskDraft, book: Rulebook, *, tree: bool = True) -> tuple[Violation, ...]:
    """Return every rule that the draft breaks; without `tree`, only rules of the task itself.

    Rules that are overridden for the draft are not among them.
    """
    of_task = (*task_violations(draft, book), *query_wording(draft, book))
    if not tree:
        return counted(of_task, book)
    found = (*of_task, *tree_violations(draft, book), *tree_wording(draft, book))
    return counted(found, book)


def wanted_tools(candidate: Candidate) -> tuple[str, ...]:
    """Return the tools that a candidate's aim names, if it was requested for some."""
    if candidate.origin is not Origin.AUGMENTATION:
        return ()
    choosable = set(catalogue()) - ALWAYS_ALLOWED
    return tuple(sorted(tool for tool in choosable if _names(candidate.aim, tool)))


def rulebook(
    candidate: Candidate,
    files: frozenset[str],
    tools: frozenset[str] | None = None,
    safety: SafetyRules = NOTHING_ALLOWED,
    overridden: Collection[str] = (),
) -> Rulebook:
    """Return the rules for a candidate's draft.

    Args:
        candidate: The candidate.
        files: Names of its attachments.
        tools: The offered tools; None: all tools of the catalogue.
        safety: What of personal data and harm it may hold.
        overridden: Rules that a person lets it break.
    """
    return Rulebook(
        tier=candidate.tier,
        tools=frozenset(catalogue()) if tools is None else tools,
        files=files,
        wanted_tools=wanted_tools(candidate),
        safety=safety,
        overridden=overridden,
    )


def require(found: tuple[Violation, ...]) -> None:
    """Raise if there are violations.

    Raises:
        BadTaskData: names them for the author of the draft.
    """
    if found:
        told = "; ".join(map(str, found[:_TOLD]))
        more = f"; and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
        raise BadTaskData(f"{told}{more}")


def review_rules(store: Store) -> Callable[[Candidate, TaskDraft], tuple[str, ...]]:
    """Return a function that lists the rules a candidate's draft breaks, one sentence each.

    Rules that are overridden for the candidate are not among them.
    """

    def broken(candidate: Candidate, draft: TaskDraft) -> tuple[str, ...]:
        safety = store.refresh(candidate.refresh_id).config.safety
        files = frozenset(available_files(store, candidate))
        overridden = store.overridden_rules([candidate.id]).get(candidate.id, ())
        book = rulebook(candidate, files, safety=safety, overridden=overridden)
        if draft.planning is not None:
            wording = counted(query_wording(draft, book), book)
            return (*map(str, wording), *faults_of(assembled(store, candidate, draft)))
        return tuple(map(str, violations(draft, book)))

    return broken


def _names(aim: str, tool: str) -> bool:
    return tool in aim.split() or bool(tools_named(aim, (tool,)))
