"""The gate before a release: is this set of tasks whole, sound and mixed?"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from quality.gates import Distribution, Suite
from quality.suites.expectations import between, empty, unique
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
    """Return one row per task; columns that name faults are None where there are none.

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
            "missing_files",
            "unknown_seed",
            "reference_score",
            "nop_score",
        ),
        expectations=_sound,
        distribution=Distribution(
            columns=_MEASURES,
            groups=lambda kept: _groups(kept, rules),
            expectations=lambda: _mixed(rules),
        ),
    )


def _row(content_hash: str, task: Task, facts: BankFacts) -> dict[str, Any]:
    missing = [f.path for f in task.stored_files if f.sha256 not in facts.artifacts]
    seed_id = task.provenance.seed_id
    return {
        "task_id": task.id,
        "task_hash": content_hash,
        "category": task.category.value,
        "source": task.provenance.source,
        "checkable_share": task.checkpoints.checkable_share(),
        "missing_files": ", ".join(sorted(missing)) or None,
        "unknown_seed": None if seed_id is None or seed_id in facts.seeds else seed_id,
        "reference_score": facts.reference_scores.get(content_hash),
        "nop_score": facts.nop_scores.get(content_hash),
        "self_consistent": content_hash in facts.self_consistent,
    }


def _sound() -> list["Expectation"]:
    return [
        unique("task_id", "task ids are unique"),
        unique("task_hash", "no task is in the bank twice"),
        empty("missing_files", "the artifact store holds every file of a task"),
        empty("unknown_seed", "the seed that a task was made from is known"),
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


def _groups(kept: Sequence[Row], rules: BankRules) -> list[dict[str, Any]]:
    total = len(kept)
    judged = total >= rules.min_tasks_for_shares

    def share(n: int) -> float | None:
        return round(n / total, 4) if judged else None

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
        (f"{unproven} of {total} tasks", "unproven_share", round(unproven / total, 4)),
        (f"{alone} of {total} tasks", "self_consistent_share", round(alone / total, 4)),
    ]
    return [
        {"group": group, **dict.fromkeys(_MEASURES), measure: value}
        for group, measure, value in measures
    ]


def _mixed(rules: BankRules) -> list["Expectation"]:
    enough = f"of {rules.min_tasks_for_shares} tasks or more"
    floor, ceiling = rules.min_category_share, rules.max_source_share
    checkable, unproven = rules.min_mean_checkable_share, rules.max_unproven_share
    return [
        between("category_share", f"every category has {floor:.0%} {enough}", floor, 1),
        between("source_share", f"no source gives more than {ceiling:.0%} {enough}", 0, ceiling),
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
