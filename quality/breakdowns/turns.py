"""Tasks in three groups by the turns that agents take on them (Toolathlon, section 5.2)."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from quality.success import root_sr
from taskdata.schema.agent_detail import TurnGroup
from taskdata.schema.run import TrialResult
from taskdata.schema.success import SuccessRule

_NAMES = ("easy", "medium", "hard")


def mean_turns(results: Sequence[TrialResult]) -> dict[str, float]:
    """Return the mean turns of each task over all agents' trials, of those with known turns.

    Args:
        results: First attempts of every agent that is compared: none of `reference` or `nop`.
    """
    turns: dict[str, list[int]] = {}
    for result in results:
        if result.outcome is not None and result.outcome.turns and result.score is not None:
            turns.setdefault(result.trial.task_id, []).append(result.outcome.turns)
    return {task: fmean(taken) for task, taken in turns.items()}


def turn_groups(
    results: Sequence[TrialResult], turns: Mapping[str, float], rule: SuccessRule
) -> dict[str, TurnGroup]:
    """Return one agent's success on a third of the tasks each; empty below three tasks.

    The groups differ by one task at most; the first ones are larger.
    """
    if len(turns) < len(_NAMES):
        return {}
    ordered = sorted(turns, key=lambda task: (turns[task], task))
    size, larger = divmod(len(ordered), len(_NAMES))
    groups, start = {}, 0
    for number, name in enumerate(_NAMES):
        members = ordered[start : start + size + (number < larger)]
        start += len(members)
        own = [r for r in results if r.trial.task_id in set(members)]
        groups[name] = TurnGroup(
            least_turns=turns[members[0]],
            most_turns=turns[members[-1]],
            tasks=len(members),
            root_sr=root_sr(own, rule),
        )
    return groups
