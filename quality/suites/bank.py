"""The gate before a release: is this set of tasks whole, sound and mixed?"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Distribution, Suite
from quality.suites.expectations import (
    between,
    holds,
    of_each,
    one_of,
    rule,
    unique,
)
from quality.suites.trial_scores import FULL_SCORE, NOTHING_SCORE
from quality.validation import Row
from taskdata.schema.base import Value
from taskdata.schema.gate import Share
from taskdata.schema.task import Category, Task

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation


_MEASURES = (
    "category_share",
    "source_share",
    "mean_checkable_share",
    "unproven_share",
    "self_consistent_share",
)


class BankRules(Value):
    """What the gate asks of the tasks together."""

    min_category_share: Share = 0.05
    """Least share (0-1) of the tasks in each of the six categories."""
    max_source_share: Share = 0.6
    """Largest share (0-1) of the tasks that may come from one source."""
    min_tasks_for_shares: int = Field(default=60, ge=1)
    """Below it, the share of a category or source says nothing."""
    min_mean_checkable_share: Share = 0.5
    """Least mean share (0-1) of a task's weight that code can verify."""
    max_unproven_share: Share = 1.0
    """Largest share (0-1) of tasks whose reference solution was not played."""
    max_self_consistent_share: Share = 1.0
    """Largest share (0-1) of tasks whose reference nothing but their own tree confirms."""


@dataclass(frozen=True)
class BankFacts:
    """What is known around the tasks of a bank."""

    artifacts: Collection[str]
    """sha256 of the files that the artifact store holds."""
    seeds: Collection[str]
    """Ids of the seeds that the store holds."""
    reference_scores: Mapping[str, float | None]
    """Root score of the reference solution by content hash; absent or None: unproven."""
    nop_scores: Mapping[str, float | None]
    """Root score of doing nothing by content hash; absent or None: not tried."""
    self_consistent: Collection[str] = ()
    """Content hashes of tasks whose reference nothing but their own tree confirms."""


def bank_rows(tasks: Mapping[str, Task] | Sequence[Task], facts: BankFacts) -> list[dict[str, Any]]:
    """Return one row per task, with its files as parts.

    Args:
        tasks: Tasks by content hash where the hashes are known, for hashing takes its time.
        facts: What is known around them.
    """
    hashed = tasks.items() if isinstance(tasks, Mapping) else ((t.content_hash, t) for t in tasks)
    return [_row(content_hash, task, facts) for content_hash, task in hashed]


def bank_suite(rules: BankRules = BankRules()) -> Suite:
    """Return the suite named `bank` over `bank_rows`: a release is whole or it is none."""
    return Suite(
        name="bank",
        id_column="task_id",
        columns=(
            "task_id",
            "task_hash",
            "seed_is_stored",
            "reference_score",
            "nop_score",
        ),
        parts={"files": ("is_stored",)},
        expectations=_sound,
        distribution=Distribution(
            columns=("tasks", *_MEASURES),
            groups=_groups,
            expectations=lambda: _mixed(rules),
        ),
    )


def _row(content_hash: str, task: Task, facts: BankFacts) -> dict[str, Any]:
    files = [{"path": f.path, "is_stored": f.sha256 in facts.artifacts} for f in task.stored_files]
    seed_id = task.provenance.seed_id
    return {
        "task_id": task.id,
        "task_hash": content_hash,
        "category": task.category.value,
        "source": task.provenance.source,
        "checkable_share": task.checkpoints.checkable_share(),
        "files": files,
        "seed_id": seed_id,
        "seed_is_stored": None if seed_id is None else seed_id in facts.seeds,
        "reference_score": facts.reference_scores.get(content_hash),
        "nop_score": facts.nop_scores.get(content_hash),
        "self_consistent": content_hash in facts.self_consistent,
    }


def _sound() -> list["Expectation"]:
    return [
        unique("task_id", "task ids are unique"),
        unique("task_hash", "no task is in the bank twice"),
        *of_each(
            "files",
            rule(
                "missing_files",
                one_of("is_stored", "the artifact store holds every file of a task", [True]),
                shows="path",
            ),
        ),
        rule(
            "unknown_seed",
            one_of("seed_is_stored", "the seed that a task was made from is known", [True]),
            shows="seed_id",
        ),
        between(
            "reference_score",
            "a reference solution that was played earned 10, else the task is broken",
            FULL_SCORE,
        ),
        between(
            "nop_score",
            f"doing nothing earns at most {NOTHING_SCORE:g}, else the task is broken",
            high=NOTHING_SCORE,
        ),
    ]


def _groups(kept: Sequence[Row]) -> list[dict[str, Any]]:
    total = len(kept)

    def share(n: int) -> float:
        return round(n / total, 4)

    categories = Counter(row["category"] for row in kept)
    sources = Counter(row["source"] for row in kept)
    unproven = sum(row["reference_score"] is None for row in kept)
    alone = sum(row["self_consistent"] for row in kept)
    measures = [
        *((f"category {c}", "category_share", share(categories[c])) for c in Category),
        *((f"source {s}", "source_share", share(n)) for s, n in sources.most_common()),
        (
            f"{total} tasks",
            "mean_checkable_share",
            round(fmean(row["checkable_share"] for row in kept), 4),
        ),
        (f"{unproven} of {total} tasks", "unproven_share", share(unproven)),
        (f"{alone} of {total} tasks", "self_consistent_share", share(alone)),
    ]
    return [
        {"group": group, "tasks": total, **dict.fromkeys(_MEASURES), measure: value}
        for group, measure, value in measures
    ]


def _mixed(rules: BankRules) -> list["Expectation"]:
    enough = f"of {rules.min_tasks_for_shares} tasks or more"
    floor, ceiling = rules.min_category_share, rules.max_source_share
    checkable, unproven = rules.min_mean_checkable_share, rules.max_unproven_share
    many = holds("tasks", at_least=rules.min_tasks_for_shares)
    category = f"every category has {floor:.0%} {enough}"
    source = f"no source gives more than {ceiling:.0%} {enough}"
    return [
        between("category_share", category, floor, 1, where=many),
        between("source_share", source, 0, ceiling, where=many),
        between(
            "mean_checkable_share",
            f"code can verify {checkable:.0%} of the weight of a task on average",
            checkable,
            1,
        ),
        between("unproven_share", f"at most {unproven:.0%} of the tasks are unproven", 0, unproven),
        between(
            "self_consistent_share",
            f"at most {rules.max_self_consistent_share:.0%} of the tasks have a reference that "
            "nothing but their own tree confirms",
            0,
            rules.max_self_consistent_share,
        ),
    ]
