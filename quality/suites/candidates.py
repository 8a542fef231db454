"""The gate after generation: which of the tasks that a model wrote are fit to go on?"""

from collections.abc import Collection, Sequence
from typing import Any

from quality.gates import Suite
from quality.injection import injection_signs
from quality.suites.expectations import empty, quarantining
from quality.suites.tasks import TASK_COLUMNS, TaskRules, task_expectations, task_rows
from taskdata.schema.checkpoint import Judge
from taskdata.schema.task import Task


def candidate_rows(
    tasks: Sequence[Task], tools: Collection[str], checks: Collection[str]
) -> list[dict[str, Any]]:
    """Return one row per task: those of `task_rows`, and the signs of prompt injection."""
    return [
        row | {"injection": ", ".join(injection_signs(_texts(task))) or None}
        for row, task in zip(task_rows(tasks, tools, checks), tasks, strict=True)
    ]


def candidates_suite(rules: TaskRules) -> Suite:
    """Return the suite named `candidates` over `candidate_rows`.

    Every rule is at level `quarantine`; of tasks that share an id all go there.
    """
    return Suite(
        name="candidates",
        id_column="task_id",
        columns=(*TASK_COLUMNS, "injection"),
        expectations=lambda: quarantining(
            [
                *task_expectations(rules),
                empty("injection", "a task does not speak to the model that reads it"),
            ]
        ),
    )


def _texts(task: Task) -> str:
    """Return everything a later model would read, apart from each other."""
    texts = [task.title, task.query, *(d.description for d in task.deliverables)]
    for node in task.checkpoints.nodes():
        texts.append(node.requirement)
        if isinstance(node.verifier, Judge):
            texts.append(node.verifier.rubric)
    return "\0".join(texts)
