"""The rows of the table of a run's clusters of failures."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboards.pages.trial_filter import trials_of_cluster
from dashboards.pages.trial_rows import MOST_CLUSTERS
from taskdata.schema.night import FailureCluster, Morning


class ClusterRow(NamedTuple):
    """Failures that share a cause, and since when the cause is known."""

    cluster: FailureCluster
    href: str
    """Where its trials are listed."""
    first_seen: str | None
    """Run id of the first comparable night that had it; None: the nights were not compared."""
    nights: int
    """Nights in a row that have had it, with this one."""


def cluster_rows(clusters: Sequence[FailureCluster], morning: Morning | None) -> list[ClusterRow]:
    """Return one row for each of the largest clusters."""
    changes = () if morning is None else morning.clusters
    known = {key: change for change in changes for key in change.cluster.keys}
    rows = []
    for cluster in clusters[:MOST_CLUSTERS]:
        change = known.get(cluster.key)
        first = None if morning is None else morning.run_id
        rows.append(
            ClusterRow(
                cluster,
                trials_of_cluster(cluster),
                first if change is None else change.first_seen,
                1 if change is None else change.nights,
            )
        )
    return rows
