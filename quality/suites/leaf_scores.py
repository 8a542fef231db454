"""The gate after scoring, leaf by leaf: is every score a score, given once, with a reason?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quality.gates import Suite
from quality.suites.expectations import between, like, unique_together
from taskdata.schema.run import TrialResult

if TYPE_CHECKING:
    from great_expectations.expectations.expectation import Expectation


def leaf_rows(results: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """Return one row per leaf of each scored trial; an unscored leaf has score None."""
    return [
        {
            "leaf": f"{result.trial.id}/{leaf.leaf_id}",
            "trial_id": result.trial.id,
            "leaf_id": leaf.leaf_id,
            "score": leaf.score,
            "verifier": leaf.verifier,
            "reason_length": len(leaf.reason.strip()),
        }
        for result in results
        if result.score is not None
        for leaf in result.score.leaves
    ]


def leaf_scores_suite() -> Suite:
    """Return the suite named `leaf_scores` over `leaf_rows`."""
    return Suite(
        name="leaf_scores",
        id_column="leaf",
        columns=("leaf", "trial_id", "leaf_id", "score", "verifier", "reason_length"),
        expectations=_expectations,
        # A run without any scored trial is for `trial_scores` to stop, which can say why.
        may_be_empty=True,
    )


def _expectations() -> list["Expectation"]:
    return [
        between("score", "a leaf score is between 0 and 10, or None", 0, 10),
        unique_together(["trial_id", "leaf_id"], "a leaf is scored once per trial"),
        like(
            "verifier",
            "a leaf score names its verifier",
            r"^(?:check|judge|tool_result|script|plan)\b",
        ),
        between("reason_length", "a leaf score states its reason", 1),
    ]
