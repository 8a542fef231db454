"""What must be known beside the scores of a run to read them right."""

from collections.abc import Iterator

from taskdata.schema.gate import TASKS
from taskdata.schema.summary import AgentSummary, RunSummary

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
    apart = summary.disagreement
    if apart is not None:
        interval = "" if apart.ci95 is None else " ({:.2f} to {:.2f})".format(*apart.ci95)
        yield (
            f"The judges ({summary.run.judge}) are {_shown(apart.mean, '.2f')} points"
            f"{interval} apart on a leaf, over {_count(apart.n, 'leaf', 'leaves')} of first "
            "attempts."
        )


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
