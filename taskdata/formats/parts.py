"""Splitting a bank into a public and a private part, by a seed."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable

from taskdata.schema.outline import TaskOutline
from taskdata.schema.task import Category


def public_ids(tasks: Iterable[TaskOutline], share: float, seed: int) -> frozenset[str]:
    """Return the ids of the public tasks, the same for the same tasks, share and seed.

    Every category gives its share, rounded so that the whole is as near to the share as can be
    (largest remainders). Within a category the order is that of sha256 over seed and id.

    Args:
        tasks: All tasks.
        share: Of the tasks that are public, between 0 and 1.
        seed: Chooses which.
    """
    by_category: dict[Category, list[str]] = defaultdict(list)
    for task in tasks:
        by_category[task.category].append(task.id)
    quotas = {category: share * len(ids) for category, ids in by_category.items()}
    counts = {category: int(quota) for category, quota in quotas.items()}
    missing = round(sum(quotas.values())) - sum(counts.values())
    by_remainder = sorted(quotas, key=lambda c: (int(quotas[c]) - quotas[c], _drawn(seed, c)))
    for category in by_remainder[:missing]:
        counts[category] += 1
    return frozenset(
        task_id
        for category, ids in by_category.items()
        for task_id in sorted(ids, key=lambda i: _drawn(seed, i))[: counts[category]]
    )


def _drawn(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}:{name}".encode()).digest()
