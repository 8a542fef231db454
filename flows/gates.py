"""Holding a gate of a run: rows from the store, suites from `quality`, results back.

A gate is one or more suites over what one stage hands to the next. Every validation result is
kept as an artifact, whether it held or not.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flows import publishing
from quality.data_docs import data_docs
from quality.gates import Suite, hold, require, rules_sha256, still_holds
from quality.limits import GateLimits
from quality.outcomes import expectation_outcomes
from quality.suites.leaf_scores import leaf_rows, leaf_scores_suite
from quality.suites.tasks import rules_for, task_rows, tasks_suite
from quality.suites.trial_scores import trial_rows, trial_scores_suite
from taskdata.errors import Misuse
from taskdata.schema.gate import TASKS, GateResult
from taskdata.schema.run import StageReport
from taskdata.store import Store

Row = Mapping[str, Any]
Rows = Sequence[Row]


def hold_gate(
    store: Store, run_id: str, gate: str, limits: GateLimits = GateLimits()
) -> StageReport:
    """Hold every suite of the gate and store what each found.

    The gate of the tasks is held once under the same limits, for a run's tasks never change. A
    task may break the rules that were overridden for it on its way into the release.

    Raises:
        Misuse: if there is no such gate.
        GateFailed: if one does not hold; names the offending rows.
    """
    if gate not in GATES:
        raise Misuse(f"gate {gate!r} is unknown; there are {', '.join(GATES)}")
    asked = rules_for(store.run(run_id).config, limits.tasks) if gate == TASKS else None
    if asked is not None and still_holds(store.gates(run_id), gate, asked):
        note = "it held before, over the same tasks, under the same limits and code"
        return StageReport(stage=f"gate {gate}", run_id=run_id, due=0, done=0, note=note)
    started = time.monotonic()
    results = []
    overridden = _overridden(store, run_id) if gate == TASKS else {}
    for suite, rows in GATES[gate](store, run_id, limits):
        result, validation = hold(suite, rows, run_id, overridden)
        if asked is not None:
            result = result.model_copy(update={"rules_sha256": rules_sha256(asked)})
        result = keep(store, result, validation)
        store.record_gate(result, expectation_outcomes(validation))
        results.append(result)
    for result in results:
        require(result)
    return StageReport(
        stage=f"gate {gate}",
        run_id=run_id,
        due=0,
        done=0,
        seconds=time.monotonic() - started,
        note="; ".join(map(_note, results)),
    )


def _note(result: GateResult) -> str:
    held = f"{result.expectations} expectations over {result.rows} rows"
    if not result.quarantined:
        return f"{held} hold"
    left = len(result.quarantined)
    return f"{held}; {left} in quarantine and left out: {', '.join(result.quarantined[:5])}" + (
        f" and {left - 5} more" if left > 5 else ""
    )


def keep(store: Store, result: GateResult, validation: dict[str, Any]) -> GateResult:
    """Keep what a gate found as JSON and as Data Docs, show it on the flow run, say where it is."""
    found = result.model_copy(
        update={
            "validation_sha256": store.artifacts.put_bytes(
                json.dumps(validation, default=str).encode()
            ),
            "docs_sha256": store.artifacts.put_bytes(data_docs(validation).encode()),
        }
    )
    publishing.gate_artifact(found)
    return found


def _overridden(store: Store, run_id: str) -> dict[str, frozenset[str]]:
    notes = store.find_release(store.run(run_id).release_hash)
    return {
        entry.task_id: frozenset(str(one.rule) for one in entry.overrides)
        for entry in (() if notes is None else notes.lineage)
        if entry.overrides
    }


def _tasks(store: Store, run_id: str, limits: GateLimits) -> list[tuple[Suite, Rows]]:
    from environments.tool_runtime.catalogue import catalogue
    from stages.score.library import check_library

    run = store.run(run_id)
    config, withdrawn = run.config, store.withdrawn_of_release(run.release_hash)
    tasks = [task for h, task in store.tasks_of_run(run_id).items() if h not in withdrawn]
    tools = list(catalogue())
    return [
        (
            tasks_suite(rules_for(config, limits.tasks), tools, list(check_library())),
            task_rows(tasks, tools),
        )
    ]


def _scores(store: Store, run_id: str, _limits: GateLimits) -> list[tuple[Suite, Rows]]:
    tasks = store.tasks_of_run(run_id)
    leaves, trials = list[Row](), list[Row]()
    # Rows are a small part of what the results of a large run take together.
    for result in store.each_result(run_id):
        leaves += leaf_rows([result])
        trials += trial_rows([result], tasks)
    return [(leaf_scores_suite(), leaves), (trial_scores_suite(), trials)]


GATES: dict[str, Callable[[Store, str, GateLimits], list[tuple[Suite, Rows]]]] = {
    TASKS: _tasks,
    "scores": _scores,
}
"""The gates of a night by name."""
