"""Parts of nights made by hand."""

import hashlib
from collections.abc import Sequence
from typing import Any

from taskdata.schema.night import Morning, Night, NightCell, NightTask


def task_of(task_id: str, version: int = 1, **known: Any) -> NightTask:
    fields = {
        "task_id": task_id,
        "task_hash": hashlib.sha256(f"{task_id}{version}".encode()).hexdigest(),
        "title": f"About {task_id}",
        "tier": "workflow",
        "category": "data_analysis",
        "capabilities": ("logic",),
        "deliverable_types": ("csv",),
        "leaves": 4,
    }
    return NightTask(**(fields | known))


def cell_of(agent: str, task_id: str, scores: Sequence[float | None]) -> NightCell:
    return NightCell(
        agent=agent,
        task_id=task_id,
        trial_ids=tuple(f"t{agent}{task_id}{n}" for n in range(len(scores))),
        scores=tuple(scores),
        successes=tuple(None if score is None else score > 7 for score in scores),
        errors=sum(score is None for score in scores),
        cost_usd=0.5 * len(scores),
        wall_s=30.0 * len(scores),
        turns=4.0,
        tokens=1000 * len(scores),
    )


def first_morning(night: Night, **known: Any) -> Morning:
    return Morning(**({"run_id": night.run_id, "false_alarm_rate": 0.05} | known))
