"""The gate over planning cases: is each of its setting's shape, and are they mixed as a set?"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Distribution, Suite
from quality.suites.expectations import between, filled, one_of, quarantining, unique
from quality.validation import Row
from taskdata.schema.base import Value
from taskdata.schema.gate import Share
from taskdata.schema.planning import Form, Modality, PlanningCase, Setting, ToolRole
from taskdata.schema.task import Category, Task

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation

_COLUMNS = (
    "case_id",
    "asks",
    "setting",
    "form",
    "modality",
    "tools",
    "reference_grade",
    "reference_steps",
    "refusal_steps",
    "steps_missing",
    "base_case",
    "distractors",
    "failed_steps",
    "substitutes",
    "proof_length",
    "composites",
    "traps",
    "lowest_own_cost",
    "highest_own_cost",
    "saved",
)
_MEASURES = ("setting_share", "domain_share", "length_share", "text_share")
_LENGTHS = ((1, 5), (6, 10), (11, 10_000))
"""Ranges of the steps of a trajectory."""


class PlanningCaseRules(Value):
    """What the gate asks of planning cases together."""

    min_setting_share: Share = 0.05
    """Least share (0-1) of the cases in each setting that there is."""
    max_setting_share: Share = 0.6
    min_domain_share: Share = 0.05
    """Least share (0-1) of the cases in each of the six categories."""
    max_length_share: Share = 0.8
    """Largest share (0-1) of the cases whose trajectories are of one range of lengths."""
    max_text_share: Share = 0.97
    """Largest share (0-1) of the cases without image, audio or video."""
    min_cases_for_shares: int = Field(default=60, ge=1)
    """Below it, a share says nothing."""


def planning_case_rows(
    cases: Sequence[Task], grades: Mapping[str, float | None], asks: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return one row per planning case; what a setting does not have is None.

    Args:
        cases: The planning cases.
        grades: Grade (0-1) of each case's reference by id; None: it could not be marked.
        asks: What each case asks, as a text that is equal for cases that ask the same, by id.
    """
    return [
        _row(task, task.planning, grades.get(task.id), asks[task.id])
        for task in cases
        if task.planning is not None
    ]


def planning_cases_suite(rules: PlanningCaseRules) -> Suite:
    """Return the suite named `planning_cases` over `planning_case_rows`."""
    return Suite(
        name="planning_cases",
        id_column="case_id",
        columns=_COLUMNS,
        expectations=lambda: quarantining(_sound()),
        distribution=Distribution(
            columns=_MEASURES,
            groups=lambda kept: _groups(kept, rules),
            expectations=lambda: _mixed(rules),
        ),
    )


def _row(task: Task, case: PlanningCase, grade: float | None, asks: str) -> dict[str, Any]:
    is_refused = case.setting is Setting.UNSOLVABLE
    return {
        "case_id": task.id,
        "asks": asks,
        "setting": case.setting.value,
        "form": case.form.value,
        "modality": case.modality.value,
        "domain": task.category.value,
        "length": case.origin.length,
        "tools": len(case.tools),
        "reference_grade": grade,
        "reference_steps": None if is_refused else case.steps,
        "refusal_steps": case.steps if is_refused else None,
        "steps_missing": None if case.horizon is None else case.horizon - case.steps,
        "base_case": case.origin.base_case or ("" if _is_cut(case) else None),
        **_of_setting(case),
    }


def _of_setting(case: PlanningCase) -> dict[str, Any]:
    """Return the columns that only cases of one setting have."""
    found: dict[str, Any] = dict.fromkeys(_COLUMNS[_COLUMNS.index("distractors") :])
    if case.setting is Setting.EXTRANEOUS:
        found["distractors"] = len(case.of_role(ToolRole.DISTRACTOR))
    elif case.setting is Setting.BROKEN:
        found["failed_steps"] = sum(step.failed for step in case.prefix)
        found["substitutes"] = len(case.of_role(ToolRole.SUBSTITUTE))
    elif case.setting is Setting.UNSOLVABLE:
        found["proof_length"] = len(case.proof.strip())
    elif case.setting is Setting.EFFICIENCY:
        found |= _costs(case)
    return found


def _costs(case: PlanningCase) -> dict[str, Any]:
    own = [tool.cost or 0 for tool in case.of_role(ToolRole.OWN)]
    costs = {tool.name: tool.cost or 0 for tool in case.tools}
    called = [tool for a in case.reference.chain for tool in case.tools if tool.name == a.tool]
    plain = sum(costs.get(name, 0) for tool in called for name in tool.replaces or (tool.name,))
    return {
        "composites": len(case.of_role(ToolRole.COMPOSITE)),
        "traps": len(case.of_role(ToolRole.TRAP)),
        "lowest_own_cost": min(own, default=None),
        "highest_own_cost": max(own, default=None),
        "saved": plain - (case.optimum or 0),
    }


def _is_cut(case: PlanningCase) -> bool:
    return case.setting in (Setting.HOLISTIC, Setting.STEP_WISE)


def _sound() -> list["Expectation"]:
    return [
        unique("case_id", "ids of cases are unique"),
        unique("asks", "no two cases ask the same"),
        one_of("setting", "the setting is a known one", [s.value for s in Setting]),
        one_of("form", "the form is a known one", [f.value for f in Form]),
        one_of("modality", "the modality is a known one", [m.value for m in Modality]),
        between("tools", "a case offers 1 to 100 tools", 1, 100),
        filled("reference_grade", "code can mark the reference of a case"),
        between("reference_grade", "the reference of a case has the grade 1", 1, 1),
        between("reference_steps", "a reference that is no refusal calls a tool", 1),
        between("refusal_steps", "a reference that refuses calls no tool", 0, 0),
        between("steps_missing", "a reference has as many actions as are asked for", 0, 0),
        filled("base_case", "a variation names its base case"),
        one_of("distractors", "there are 2, 4, 6, 8 or 10 distractors", [2, 4, 6, 8, 10]),
        between("failed_steps", "exactly one tool has broken", 1, 1),
        between("substitutes", "a broken tool has a substitute", 1),
        between("proof_length", "a sentence proves that a case is unsolvable", 20, 2_000),
        between("composites", "there are 3 to 6 composites", 3, 6),
        between("traps", "there are 2 to 4 traps", 2, 4),
        between("lowest_own_cost", "an own tool costs at least 1", 1),
        between("highest_own_cost", "an own tool costs at most 5", high=5),
        between("saved", "the optimum is below the cost of the plain steps", 1),
    ]


def _groups(kept: Sequence[Row], rules: PlanningCaseRules) -> list[dict[str, Any]]:
    total = len(kept)
    judged = total >= rules.min_cases_for_shares

    def share(number: int) -> float | None:
        return round(number / total, 4) if judged else None

    settings = Counter(row["setting"] for row in kept)
    domains = Counter(row["domain"] for row in kept)
    texts = sum(row["modality"] == Modality.TEXT.value for row in kept)
    measures = [
        *((f"setting {s}", "setting_share", share(n)) for s, n in settings.most_common()),
        *((f"category {c}", "domain_share", share(domains[c])) for c in Category),
        *(
            (f"{low} to {high} steps", "length_share", share(_between(kept, low, high)))
            for low, high in _LENGTHS
        ),
        (f"{texts} of {total} cases", "text_share", share(texts)),
    ]
    return [
        {"group": group, **dict.fromkeys(_MEASURES), measure: value}
        for group, measure, value in measures
    ]


def _between(kept: Sequence[Row], low: int, high: int) -> int:
    return sum(low <= row["length"] <= high for row in kept)


def _mixed(rules: PlanningCaseRules) -> list["Expectation"]:
    enough = f"of {rules.min_cases_for_shares} cases or more"
    low, high = rules.min_setting_share, rules.max_setting_share
    domain, length, text = rules.min_domain_share, rules.max_length_share, rules.max_text_share
    return [
        between("setting_share", f"a setting has {low:.0%} to {high:.0%} {enough}", low, high),
        between("domain_share", f"every category has {domain:.0%} {enough}", domain, 1),
        between("length_share", f"no range of lengths has more than {length:.0%}", 0, length),
        between("text_share", f"at most {text:.0%} {enough} are without other media", 0, text),
    ]
