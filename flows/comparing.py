"""Which agents of which runs are compared, and the comparison itself, from the store."""

from collections.abc import Sequence
from itertools import combinations, product

from quality.comparison import Side, compare, side_of
from quality.history.comparable import differing
from quality.history.night import night_of
from taskdata.errors import Misuse
from taskdata.schema.comparison import Comparison, RankedAgent
from taskdata.schema.ranking import standings
from taskdata.schema.run import Run, TrialResult
from taskdata.store import Store


def comparison_of(store: Store, run_ids: Sequence[str], agents: Sequence[str] = ()) -> Comparison:
    """Return the comparison of two runs, or of the agents of one.

    Within one run every pair of its agents is compared. Of two runs, agents of the same name are;
    where they have none in common, every agent of the first with every one of the second.

    Args:
        store: Where the runs are.
        run_ids: One or two of them.
        agents: Only these; empty: all but the controls.

    Raises:
        Misuse: for other numbers of runs, agents that no run has, or nothing to compare.
    """
    if not 1 <= len(run_ids) <= 2 or len(set(run_ids)) != len(run_ids):
        raise Misuse("compare takes one run, to compare its agents, or two different ones")
    runs = [store.run(run_id) for run_id in run_ids]
    chosen = [_chosen(run, agents) for run in runs]
    _require_known(runs, agents)
    results = [store.results(run.id, round_=0) for run in runs]
    sides = [
        {name: side_of(run, name, own) for name in names}
        for run, names, own in zip(runs, chosen, results, strict=True)
    ]
    if len(runs) == 1:
        pairs = list(combinations(sides[0].values(), 2))
    else:
        pairs = _across(sides[0], sides[1])
    if not pairs:
        raise Misuse(f"{run_ids[0]} has no two agents to compare; name another run, or controls")
    return Comparison(
        runs=tuple(run_ids),
        pairs=compare(pairs),
        differs=_differs(store, runs, results, pairs) if len(runs) == 2 else {},
        ranks=_ranks(store, runs[0], chosen[0]) if len(runs) == 1 else (),
    )


def _chosen(run: Run, agents: Sequence[str]) -> list[str]:
    if agents:
        return [agent.name for agent in run.config.agents if agent.name in agents]
    return [agent.name for agent in run.config.agents if not agent.is_control]


def _require_known(runs: Sequence[Run], agents: Sequence[str]) -> None:
    known = {agent.name for run in runs for agent in run.config.agents}
    for name in agents:
        if name not in known:
            raise Misuse(f"no agent {name!r} there; there are: {', '.join(sorted(known))}")


def _across(first: dict[str, Side], second: dict[str, Side]) -> list[tuple[Side, Side]]:
    common = [name for name in first if name in second]
    if common:
        return [(first[name], second[name]) for name in common]
    return list(product(first.values(), second.values()))


def _differs(
    store: Store,
    runs: Sequence[Run],
    results: Sequence[Sequence[TrialResult]],
    pairs: Sequence[tuple[Side, Side]],
) -> dict[str, tuple[str, str]]:
    """Return what differs in the settings of two runs, of agents only what was compared."""
    nights = [
        night_of(run, own, store.tasks_of_run(run.id))
        for run, own in zip(runs, results, strict=True)
    ]
    found = differing(*nights)
    same = {a.facts.agent for a, b in pairs if a.facts.agent == b.facts.agent}
    named = {agent.name for run in runs for agent in run.config.agents} - same
    return {
        name: values
        for name, values in found.items()
        if not any(name in (f"settings of {agent}", f"model of {agent}") for agent in named)
    }


def _ranks(store: Store, run: Run, agents: Sequence[str]) -> tuple[RankedAgent, ...]:
    from flows.summaries import summary_of

    summary = summary_of(store, run.id)
    own = tuple(agent for agent in summary.agents if agent.agent in agents)
    return tuple(
        RankedAgent(agent=s.summary.agent, best=s.best, worst=s.worst)
        for s in standings(summary.model_copy(update={"agents": own}))
    )
