"""What must be known beside the scores of a run to read them right."""

from collections.abc import Iterator, Sequence

from taskdata.schema.gate import TASKS
from taskdata.schema.summary import AgentSummary, RunSummary
from taskdata.schema.withdrawal import Withdrawal, WithdrawnTask

_TASKS_NAMED = 5


def reservations(summary: RunSummary) -> list[str]:
    """Return a sentence for each thing that leaves an agent's numbers open."""
    least = summary.run.min_coverage
    of_agents = [text for agent in summary.agents for text in _of_agent(agent, least)]
    return [*_of_run(summary), *of_agents]


def _of_run(summary: RunSummary) -> Iterator[str]:
    source = summary.run.rescores
    if source:
        yield (
            f"This run scores run {source} again: no agent worked in it, and what agents took and "
            f"cost is of {source}."
        )
    for gate in summary.gates:
        left_out = gate.quarantined if gate.gate == TASKS else ()
        if left_out:
            more = ", …" if len(left_out) > _TASKS_NAMED else ""
            yield (
                f"{len(left_out)} of {_count(gate.rows, 'task', 'tasks')} did not pass the gate "
                f"and had no trial: {', '.join(left_out[:_TASKS_NAMED])}{more}. The run's page "
                "says which rule each breaks."
            )
    yield from _of_withdrawn(summary.withdrawn)
    apart = summary.disagreement
    if apart is not None:
        interval = "" if apart.ci95 is None else " ({:.2f} to {:.2f})".format(*apart.ci95)
        yield (
            f"The judges ({summary.run.judge}) are {_shown(apart.mean, '.2f')} points"
            f"{interval} apart on a leaf, over {_count(apart.n, 'leaf', 'leaves')} of first "
            "attempts."
        )


def _of_withdrawn(tasks: Sequence[WithdrawnTask]) -> Iterator[str]:
    left_out = [task.withdrawal for task in tasks if not task.trials]
    kept = [task.withdrawal for task in tasks if task.trials]
    if left_out:
        yield (
            f"{_count(len(left_out), 'task was', 'tasks were')} withdrawn before this run and had "
            f"no trial: {_tombstones(left_out)}."
        )
    if kept:
        yield (
            f"{_count(len(kept), 'task was', 'tasks were')} withdrawn since; the figures "
            f"of this run still count {'it' if len(kept) == 1 else 'them'}: {_tombstones(kept)}."
        )


def _tombstones(withdrawals: Sequence[Withdrawal]) -> str:
    named = [f"{w.task_id} ({w.told})" for w in withdrawals[:_TASKS_NAMED]]
    return "; ".join(named) + ("; …" if len(withdrawals) > _TASKS_NAMED else "")


def _of_agent(agent: AgentSummary, min_coverage: float) -> Iterator[str]:
    missing = agent.missing
    if missing.leaves:
        score, rate = missing.root_score_upper, missing.root_sr_upper
        yield (
            f"{agent.agent}: no verdict on {_count(missing.leaves, 'leaf', 'leaves')}; each counts "
            f"0. With full scores there, the root score would be {_shown(score, '.2f')} and root "
            f"SR {_shown(rate, '.0%')}."
        )
    if agent.undecided:
        yield (
            f"{agent.agent}: {_count(agent.undecided, 'trial', 'trials')} of {agent.scored} "
            f"undecided, in no success rate: less than {min_coverage:.0%} of the task has a "
            "verifier in this run."
        )


def _shown(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)


def _count(number: int, noun: str, plural: str) -> str:
    return f"{number} {noun if number == 1 else plural}"
