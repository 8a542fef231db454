"""The gate after generation: which of the tasks that a model wrote are fit to go on?"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from quality.gates import Suite
from quality.injection import injection_signs
from quality.safety.columns import SAFETY_PARTS, safety_columns, safety_expectations
from quality.safety.task_texts import texts_of
from quality.suites.expectations import between, quarantining, rule
from quality.suites.tasks import (
    TASK_COLUMNS,
    TASK_PARTS,
    TaskRules,
    task_expectations,
    task_rows,
)
from taskdata.schema.safety import NOTHING_ALLOWED, SafetyRules
from taskdata.schema.task import Task

_SPEAKS = "a task does not speak to the model that reads it"


def candidate_rows(tasks: Sequence[Task], tools: Collection[str]) -> list[dict[str, Any]]:
    """Return one row per task: those of `task_rows`, and what is found in the task's texts."""
    return [
        row | _found(texts_of(task))
        for row, task in zip(task_rows(tasks, tools), tasks, strict=True)
    ]


def candidates_suite(
    rules: TaskRules,
    tools: Collection[str],
    checks: Collection[str],
    safety: SafetyRules = NOTHING_ALLOWED,
) -> Suite:
    """Return the suite named `candidates` over `candidate_rows`.

    Every rule is at level `quarantine`; of tasks that share an id all go there.
    """
    return Suite(
        name="candidates",
        id_column="task_id",
        columns=(*TASK_COLUMNS, "injection_marks"),
        parts=TASK_PARTS | SAFETY_PARTS,
        expectations=lambda: quarantining(
            [
                *task_expectations(rules, tools, checks),
                rule(
                    "injection",
                    between("injection_marks", _SPEAKS, high=0),
                    shows="injection_signs",
                ),
                *safety_expectations("a task", safety),
            ]
        ),
    )


def _found(texts: Mapping[str, str]) -> dict[str, Any]:
    # Apart from each other: words of two texts are no sentence.
    signs = injection_signs("\0".join(texts.values()))
    return {"injection_marks": len(signs), "injection_signs": signs} | safety_columns(texts)
