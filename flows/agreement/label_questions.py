"""Which failed trials a person is asked to label, and in which order."""

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from flows.agreement.questions import chosen_agents
from stages.diagnose.infrastructure import infrastructure_label
from taskdata.errors import Misuse
from taskdata.schema.label_agreement import PLACE
from taskdata.schema.run import Run, TrialResult
from taskdata.schema.task import Task
from taskdata.schema.transcript import ModelEvent, ToolEvent, Transcript
from taskdata.store import Store


@dataclass(frozen=True)
class LabelQuestion:
    """One failed trial."""

    result: TrialResult
    task: Task


def label_questions(
    store: Store, run: Run, annotator: str, agents: Sequence[str] = (), most: int | None = None
) -> list[LabelQuestion]:
    """Return the failed first attempts of a run that `annotator` is asked to label.

    The sample is the same for everybody, so that people label the same trials: agents, tiers and
    categories take turns in it. The order in which it is asked about is the annotator's own and
    always the same.

    Args:
        store: Where the run is.
        run: The run.
        annotator: Who is asked.
        agents: Only trials of these; empty: of all that compete, or of the controls where nobody
            does.
        most: The size of the sample; None: all failed trials.

    Raises:
        Misuse: if an agent is unknown, or no trial failed.
    """
    chosen = chosen_agents(run, agents)
    tasks = store.tasks_of_run(run.id)
    failed = [
        result
        for result in store.results(run.id, round_=0)
        if result.trial.agent in chosen and has_failed(result)
    ]
    if not failed:
        raise Misuse(
            f"run {run.id} has no failed trial with labels to compare with; "
            f"`nightshift stage diagnose --run {run.id}` labels the trials of a stored run"
        )
    sample = taking_turns(failed, run.id, _agent_tier_category)[:most]
    random.Random(f"{run.id}\n{annotator}\nlabels").shuffle(sample)  # noqa: S311 - no secret
    return [LabelQuestion(result, tasks[result.trial.task_hash]) for result in sample]


def has_failed(result: TrialResult) -> bool:
    """Return whether the trial has failure labels, or was lost outside its agent after it began."""
    if infrastructure_label(result) is not None:
        return not result.is_left_out
    return result.diagnosis is not None and result.diagnosis.stage is not None


def taking_turns(
    results: Sequence[TrialResult], seed: str, stratum_of: Callable[[TrialResult], tuple[str, ...]]
) -> list[TrialResult]:
    """Return the trials in a random order in which the strata, such as agents, take turns."""
    order = random.Random(seed)  # noqa: S311 - no secret
    strata: dict[tuple[str, ...], list[TrialResult]] = defaultdict(list)
    for result in sorted(results, key=lambda result: result.trial.id):
        strata[stratum_of(result)].append(result)
    groups = list(strata.values())
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    turns = chain.from_iterable(zip_longest(*groups))
    return [result for result in turns if result is not None]


def _agent_tier_category(result: TrialResult) -> tuple[str, ...]:
    return result.trial.agent, result.trial.tier, result.trial.category


def places_of(task: Task, result: TrialResult, transcript: Transcript | None) -> tuple[str, ...]:
    """Return the places of a trial's record at which evidence may stand, as people write them."""
    events = () if transcript is None else transcript.events
    turns = sum(isinstance(event, ModelEvent) for event in events)
    names = [f"turn {number}" for number in range(1, turns + 1)]
    names += [f"call {event.call.id}" for event in events if isinstance(event, ToolEvent)]
    names += [f"leaf {leaf.id}" for leaf in task.checkpoints.leaves()]
    names += [f"deliverable {file.name}" for file in task.deliverables]
    if result.outcome is not None:
        names += [f"deliverable {file.name}" for file in result.outcome.deliverables]
    return tuple(name for name in dict.fromkeys(names) if PLACE.fullmatch(name))
