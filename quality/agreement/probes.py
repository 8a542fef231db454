"""Probes of a judge: whether its error goes with what should not matter.

The error is the judge's score minus the mean of the annotators, so that a leaf that is good or bad
for people, too, says nothing of the judge.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from quality.agreement.measures import Scores
from quality.agreement.scored import Scored
from quality.statistics.bootstrap import Chosen, bootstrapped
from taskdata.schema.agreement import Probe
from taskdata.schema.estimate import Estimate

Told = Callable[[Sequence[int]], float]
"""The effect over these leaves."""


def probes(study: Scored, judge: str) -> tuple[Probe, ...]:
    """Return the probes for position, verbosity and self-preference."""
    return (
        _correlated(
            "position",
            study,
            study.position,
            "the place of the leaf among those asked",
            "The data have no column `position`, or only one place.",
        ),
        _correlated(
            "verbosity",
            study,
            study.words,
            "the words of the output",
            "The data have no column `words`, or outputs of one length only.",
        ),
        _self_preference(study, judge),
    )


def _correlated(name: str, study: Scored, values: Scores, of: str, missing: str) -> Probe:
    known = ~np.isnan(values)
    if len(set(values[known].tolist())) < 2:
        return Probe(name=name, what=f"Not available: {missing}")
    from scipy.stats import rankdata

    error = study.judge - study.human

    def told(rows: Sequence[int]) -> float:
        ranks, errors = rankdata(values[rows]), rankdata(error[rows])
        if ranks.std() < 1e-12 or errors.std() < 1e-12:
            return math.nan
        return float(np.corrcoef(ranks, errors)[0, 1])

    what = f"Spearman's correlation of the judge's error with {of}; 0: none."
    return Probe(name=name, what=what, effect=_estimate(study, np.flatnonzero(known), told))


def _self_preference(study: Scored, judge: str) -> Probe:
    name, provider = "self-preference", _provider(judge)
    agents = [study.outputs[i][1] for i in study.output_of]
    own = np.array([_provider(agent) == provider for agent in agents])
    known = np.array([bool(_provider(agent)) for agent in agents])
    if not provider or not own.any() or not (known & ~own).any():
        return Probe(
            name=name,
            what="Not available: it takes outputs of agents with a model of the judge's provider, "
            "and of others.",
        )
    error = study.judge - study.human

    def told(rows: Sequence[int]) -> float:
        mine = own[rows]
        if mine.all() or not mine.any():
            return math.nan
        return float(error[rows][mine].mean() - error[rows][~mine].mean())

    what = (
        f"The judge's mean error on outputs of {provider} models minus that on others, in points; "
        "0: none."
    )
    return Probe(name=name, what=what, effect=_estimate(study, np.flatnonzero(known), told))


def _provider(name: str) -> str:
    """Return the provider of `harness:provider/model` or `provider/model`; empty: none named."""
    model = name.rpartition(":")[2] if name.count(":") == 1 else name
    provider, slash, _ = model.partition("/")
    return provider if slash else ""


def _estimate(study: Scored, rows: np.ndarray, told: Told) -> Estimate:
    clusters: dict[str, list[int]] = {}
    for row in rows.tolist():
        clusters.setdefault(study.leaf_of[row][0][0], []).append(row)
    groups = list(clusters.values())

    def statistics(chosen: Chosen) -> list[float]:
        return [told([row for i in chosen for row in groups[i]])]

    return bootstrapped(statistics, len(groups), [len(rows)])[0]
