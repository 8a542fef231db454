"""The leaves that got worse from the first attempt to a later one."""

from collections.abc import Iterator, Sequence

from quality.refinement.attempts import Pair
from quality.statistics.intervals import clustered_share
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import Regression, Regressions

MOST_SHOWN = 10


def regressions(pairs: Sequence[Pair]) -> Regressions:
    """Return the leaves that score less in the last attempt, of those scored in both.

    A leaf that has no score in one of the attempts is no evidence for a change.
    """
    compared = [one for pair in pairs for one in _compared(pair)]
    worse = [one for one in compared if one.after < one.before]
    return Regressions(
        worse=len(worse),
        leaves=len(compared),
        share=clustered_share(
            [one.after < one.before for one in compared], [one.task_id for one in compared]
        ),
        top=tuple(sorted(worse, key=_order)[:MOST_SHOWN]),
    )


def _compared(pair: Pair) -> Iterator[Regression]:
    scores = _leaf_scores(pair.last)
    for leaf_id, before in _leaf_scores(pair.first).items():
        if leaf_id in scores:
            yield Regression(
                task_id=pair.task_id,
                leaf_id=leaf_id,
                trial_id=pair.last.trial.id,
                first_trial_id=pair.first.trial.id,
                before=before,
                after=scores[leaf_id],
            )


def _leaf_scores(result: TrialResult) -> dict[str, float]:
    leaves = result.score.leaves if result.score else ()
    return {leaf.leaf_id: leaf.score for leaf in leaves if leaf.score is not None}


def _order(one: Regression) -> tuple[float, str, str, str]:
    return one.after - one.before, one.task_id, one.leaf_id, one.trial_id
