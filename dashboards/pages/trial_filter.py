"""Addresses of a run's trials that share something: its page lists those alone."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from taskdata.schema.failures import Grouping, RunFailures
from taskdata.schema.night import FailureCluster

ANY = "*"
"""The condition that there is a value."""
FIRST = {"round": "0"}
"""First attempts."""
COMPETING = FIRST | {"competing": "yes"}
"""First attempts of agents that are no controls."""


def trials_where(conditions: Mapping[str, str], n: int | None = None, page: str = "") -> str:
    """Return the address of the list of trials for which all conditions hold.

    Args:
        conditions: What must hold: `data-` attributes of the rows, or groups of agents and tasks.
        n: The number of these trials; the list says if the page has fewer.
        page: Address of the run's page, as seen from the page with the link; empty: the same.
    """
    known = dict(conditions) if n is None else {**conditions, "n": str(n)}
    return f"{page}#trials?{urlencode(known, quote_via=quote)}"


def trials_of_cluster(cluster: FailureCluster, page: str = "") -> str:
    """Return the address of the list of a cluster's trials; `page` as for `trials_where`."""
    return trials_where({"cluster": cluster.short_key}, cluster.trials, page)


def trials_of_group(by: Grouping, group: str) -> dict[str, str]:
    """Return the conditions that hold for the trials of a group."""
    return (FIRST | {"agent": group}) if by is Grouping.AGENT else (COMPETING | {by.value: group})


def groups_on_page(failures: RunFailures) -> dict[str, Any]:
    """Return what the page's script looks conditions up in: groups of agents and of tasks."""
    agents = {
        name: {by.value: list(groups) for by, groups in known.items()} | {"competing": ["yes"]}
        for name, known in failures.agents.items()
    }
    tasks = {
        task_id: {by.value: list(groups) for by, groups in known.items()}
        for task_id, known in failures.tasks.items()
    }
    causes = {cluster.short_key: cluster.title for cluster in failures.clusters}
    return {"agents": agents, "tasks": tasks, "causes": causes}
