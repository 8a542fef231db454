"""Success rates of one agent's trials: what counts, of what, and what missing verdicts leave open.

A trial that the run has too few verifiers for (undecided) is in no rate. One whose success depends
on a verdict that is missing (open) counts as not succeeded.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from quality.statistics.intervals import clustered_share
from quality.statistics.passk import mean_pass_at_k, mean_pass_hat_k
from taskdata.schema.estimate import Estimate
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule, TrialVerdict
from taskdata.schema.summary import Missing
from taskdata.schema.task import Capability, Task

SUCCESS_THRESHOLDS = (5, 6, 7, 8, 9)
"""The k of Root SR@k (GTA-2, section 6.4.1)."""


def success_rates(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], rule: SuccessRule
) -> dict[str, Any]:
    """Return the fields of an agent's summary that count successes; `tasks` by content hash."""
    verdicts = [r.verdict(rule) for r in results]
    rate = root_sr(results, rule)
    return {
        "undecided": verdicts.count(TrialVerdict.UNDECIDED),
        "root_sr": rate.mean,
        "root_sr_ci95": rate.ci95,
        "root_sr_at": {str(k): root_sr(results, rule.at(k)).mean for k in SUCCESS_THRESHOLDS},
        "capability_sr": _by_capability(results, tasks, rule),
        "missing": _missing(results, verdicts),
        **_pass_k(results, rule),
    }


def root_sr(results: Iterable[TrialResult], rule: SuccessRule) -> Estimate:
    """Return the share of decided trials that succeeded (GTA-2, section 4.2.2)."""
    successes = [(r, v is TrialVerdict.SUCCEEDED) for r, v in _decided(results, rule)]
    return clustered_share([s for _, s in successes], [r.trial.task_id for r, _ in successes])


def _decided(
    results: Iterable[TrialResult], rule: SuccessRule
) -> list[tuple[TrialResult, TrialVerdict]]:
    verdicts = [(r, r.verdict(rule)) for r in results]
    return [(r, v) for r, v in verdicts if v is not None and v is not TrialVerdict.UNDECIDED]


def successes_by_repetition(
    results: Iterable[TrialResult], rule: SuccessRule
) -> dict[int, list[bool]]:
    """Return which decided trials succeeded, by their repetition, which is 0 for the first."""
    found: dict[int, list[bool]] = {}
    for result, verdict in _decided(results, rule):
        found.setdefault(result.trial.repetition, []).append(verdict is TrialVerdict.SUCCEEDED)
    return found


def _pass_k(results: Sequence[TrialResult], rule: SuccessRule) -> dict[str, dict[str, Estimate]]:
    outcomes: dict[str, list[bool]] = {}
    for result, verdict in _decided(results, rule):
        succeeded = verdict is TrialVerdict.SUCCEEDED
        outcomes.setdefault(result.trial.task_id, []).append(succeeded)
    ks = range(1, max(map(len, outcomes.values()), default=0) + 1)
    return {
        "pass_at_k": {str(k): mean_pass_at_k(outcomes, k) for k in ks},
        "pass_hat_k": {str(k): mean_pass_hat_k(outcomes, k) for k in ks},
    }


def _by_capability(
    results: Sequence[TrialResult], tasks: Mapping[str, Task], rule: SuccessRule
) -> dict[str, float | None]:
    """Return Root SR over the tasks that carry each capability (GTA-2, section 4.2.2)."""
    rates = {}
    for capability in Capability:
        carrying = [r for r in results if capability in tasks[r.trial.task_hash].capabilities]
        rates[capability.value] = root_sr(carrying, rule).mean
    return rates


def _missing(results: Sequence[TrialResult], verdicts: Sequence[TrialVerdict | None]) -> Missing:
    leaves = sum(r.score.unanswered_leaves for r in results if r.score is not None)
    if not leaves:
        return Missing()
    decided = [v for v in verdicts if v is not None and v is not TrialVerdict.UNDECIDED]
    possible = [v in (TrialVerdict.SUCCEEDED, TrialVerdict.OPEN) for v in decided]
    uppers = [r.root_score_upper for r in results if r.root_score_upper is not None]
    return Missing(
        leaves=leaves,
        trials=decided.count(TrialVerdict.OPEN),
        root_score_upper=fmean(uppers) if uppers else None,
        root_sr_upper=fmean(possible) if possible else None,
    )
