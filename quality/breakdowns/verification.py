"""Trials by whether the agent looked at what it had made, and success of each (TOBench)."""

from collections.abc import Sequence

from quality.statistics.intervals import clustered_share
from quality.success import root_sr
from taskdata.schema.agent_detail import VerificationGroup
from taskdata.schema.run import TrialResult
from taskdata.schema.self_verification import SelfVerification
from taskdata.schema.success import SuccessRule


def verification_groups(
    results: Sequence[TrialResult], rule: SuccessRule
) -> dict[str, VerificationGroup]:
    """Return for each level its share of trials, and Root SR over these; empty without any.

    Trials that delivered nothing that has a look, and those whose calls are not known, are out.
    """
    known = [
        (result, result.outcome.self_verification)
        for result in results
        if result.outcome is not None and result.outcome.self_verification is not None
    ]
    if not known:
        return {}
    tasks = [result.trial.task_id for result, _ in known]
    return {
        level.value: VerificationGroup(
            trials=clustered_share([found is level for _, found in known], tasks),
            root_sr=root_sr([result for result, found in known if found is level], rule),
        )
        for level in SelfVerification
    }
