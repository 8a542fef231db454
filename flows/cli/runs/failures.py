"""What `nightshift results --failures` shows: causes first, then how often each label occurs."""

from typing import TYPE_CHECKING, Any

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.failures import FailureShare, GroupFailures, RunFailures
    from taskdata.schema.night import ClusterChange, FailureCluster
    from taskdata.schema.run import Run
    from taskdata.store import Store

GROUPINGS = ("agent", "model", "harness", "category", "deliverable-type", "leaves")
"""What `--by` takes."""
_MOST_CLUSTERS = 30
_MOST_NAMED = 3
_TITLES = {
    "stage": "Stage at which failed trials broke down (GTA-2, table 8)",
    "type": "Type of failure (GTA-2, table 9)",
    "level": "Levels: trials with a failure at the level",
    "tool_use_category": "Tool use by category (TOBench, table 4)",
    "tool_use": "Tool use by subcategory (TOBench, table 4)",
    "long_run": "Long runs",
    "arguments": "Argument errors, atomic tier (GTA, table 6)",
    "infrastructure": "Trials lost outside the agent, of all trials",
}
_LEVELS = {"A": "A: leaf", "B": "B: composition", "C": "C: deliverable"}


def write_failures(store: "Store", run: "Run", *, by: str | None, as_json: bool) -> None:
    """Write the causes of failure of a run's first attempts, and the distributions of labels.

    Args:
        store: Where the run is.
        run: The run.
        by: One of `GROUPINGS`; None: agents. JSON has all of them.
        as_json: Write JSON.

    Raises:
        Misuse: if nothing is counted by `by`.
    """
    from flows.failures import failures_of
    from taskdata.schema.failures import Grouping

    by = by or GROUPINGS[0]
    if by not in GROUPINGS:
        raise Misuse(f"--by {by}: failures are counted by {', '.join(GROUPINGS)}")
    found = failures_of(store, run)
    morning = store.find_morning(run.id)
    seen = {} if morning is None else {change.cluster.key: change for change in morning.clusters}
    if as_json:
        console.write_json(_as_json(run.id, found, seen))
        return
    _write_clusters(run, found.clusters, seen)
    _write_groups(run, by, found.groups[Grouping(by.replace("-", "_"))])


def _as_json(run_id: str, found: "RunFailures", seen: "dict[str, ClusterChange]") -> dict[str, Any]:
    groups = {
        by.value: [group.model_dump(mode="json") for group in groups]
        for by, groups in found.groups.items()
    }
    agents = [{"agent": group["group"]} | group for group in groups["agent"]]
    for agent in agents:
        del agent["group"]
    clusters = [
        cluster.model_dump(mode="json")
        | {
            "first_seen": seen[cluster.key].first_seen if cluster.key in seen else run_id,
            "nights": seen[cluster.key].nights if cluster.key in seen else 1,
        }
        for cluster in found.clusters
    ]
    return {"run": run_id, "clusters": clusters, "agents": agents, "groups": groups}


def _write_clusters(
    run: "Run", clusters: "tuple[FailureCluster, ...]", seen: "dict[str, ClusterChange]"
) -> None:
    if not clusters:
        console.paragraph(f"Run {run.id}: no first attempt of a competing agent failed.")
        return
    console.heading(f"Run {run.id}: why first attempts of competing agents failed")
    for cluster in clusters[:_MOST_CLUSTERS]:
        noun = "trial" if cluster.trials == 1 else "trials"
        console.paragraph(f"{cluster.trials} {noun}: {cluster.title}")
        tasks = f"{len(cluster.tasks)} task{'s' if len(cluster.tasks) > 1 else ''}"
        since = f"; seen since {seen[cluster.key].first_seen}" if cluster.key in seen else ""
        console.block(f"{_named(cluster.agents)}; {tasks}; such as {cluster.example}{since}")
    if len(clusters) > _MOST_CLUSTERS:
        console.say(f"{len(clusters) - _MOST_CLUSTERS} more causes: --json has them all")


def _write_groups(run: "Run", by: str, groups: "tuple[GroupFailures, ...]") -> None:
    column = by.replace("-", " ")
    if not groups:
        console.paragraph(f"Run {run.id} has no trial to count by {column}.")
        return
    console.table(
        [
            {
                column: group.group,
                "trials": str(group.trials),
                "scored": str(group.scored),
                "failed": str(group.failed),
                "lost": str(group.lost),
            }
            for group in groups
        ],
        title=f"First attempts by {column}",
    )
    for kind, title in _TITLES.items():
        rows = [row for group in groups for row in _rows(column, group, kind)]
        if rows:
            console.table(rows, title=title)
    levels = [row for group in groups for row in _levels(column, group)]
    if levels:
        console.table(levels, title="Requirements that do not hold, by level (GTA-2, table 10)")
    authors = [row for group in groups for row in _authors(column, group)]
    if authors:
        console.table(
            authors,
            title=f"Labels given by rules and by a model; the model is {run.config.labeller}",
        )
    told = "" if by == "agent" else "Controls are left out. "
    if by == "deliverable-type":
        told += "A task that asks for files of two types counts for both. "
    console.paragraph(
        f"{told}A trial may have several labels of tool use, of long runs and of arguments. "
        "docs/failures.md defines each label; `nightshift show TRIAL` has its evidence."
    )


def _named(names: "tuple[str, ...]") -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _rows(column: str, group: "GroupFailures", kind: str) -> list[dict[str, str]]:
    rows = []
    of_model = group.of_model.get(kind, {})
    for name, share in group.labels[kind].items():
        if share.n:
            by_model = {"by model": str(of_model.get(name, 0))} if of_model else {}
            rows.append(_row(column, group.group, name.replace("_", " "), share) | by_model)
    return rows


def _authors(column: str, group: "GroupFailures") -> list[dict[str, str]]:
    """Return how many labels are by rules and by the model, and how often it was rejected."""
    if not group.asked:
        return []
    by = [_row(column, group.group, f"by {who}", share) for who, share in group.given_by.items()]
    told = f"{group.rejected} of {group.asked}"
    share = f"{100 * group.rejected / group.asked:.2f} %"
    rejected = {column: group.group, "label": "trials with rejected replies", "n": told}
    return [*by, rejected | {"share": share}]


def _levels(column: str, group: "GroupFailures") -> list[dict[str, str]]:
    shares = group.requirements.items()
    return [_row(column, group.group, _LEVELS[level], share) for level, share in shares if share.of]


def _row(column: str, group: str, name: str, share: "FailureShare") -> dict[str, str]:
    percent = "-" if share.percent is None else f"{share.percent:.2f} %"
    return {column: group, "label": name, "n": f"{share.n} of {share.of}", "share": percent}
