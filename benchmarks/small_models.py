"""What a small local model does with the starter bank's atomic tasks, with and without a grammar.

The same model works as two agents: in plain ReAct text, and with each step asked for under a JSON
schema of the task's tools and files. What is printed of each is how many of its tool calls worked
(tool SR), and the mean root score. It takes the cores for minutes.

`python benchmarks/small_models.py [--model NAME|FILE.gguf] [--tasks N] [--turns N] [--json]`
"""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from statistics import fmean

from load.planning import new_store

from stages.execute import work as execute
from stages.prepare import work as prepare
from stages.score import work as score
from taskdata.banks.loader import load_bank
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import Run, RunConfig, RunStatus
from taskdata.schema.task import Tier
from taskdata.store import Store

_RUN = "small-models"
_REPLY_TOKENS = 256


@dataclass(frozen=True)
class Figures:
    """What one agent did."""

    agent: str
    trials: int
    tool_calls: int
    tool_sr: float | None
    """None: it called no tool."""
    failures: dict[str, int]
    """Calls that did not work, by tool and kind of error."""
    root_score: float
    turns: float
    seconds: float


def main() -> None:
    """Print what was measured."""
    options = _options()
    budget = Budget(
        max_turns=options.turns, max_reply_tokens=_REPLY_TOKENS, max_seconds=options.seconds
    )
    agents = [
        AgentSpec.parse(
            f"react:local/{options.model}",
            label=label,
            structured_steps=label == "grammar",
            temperature=0.0,
            budget=budget,
        )
        for label in options.ways
    ]
    with new_store() as (store, home):
        _plan(store, agents, options.tasks)
        prepare.do(store, _RUN, home)
        execute.do(store, _RUN, 0, home)
        score.do(store, _RUN, 0)
        measured = [_figures(store, agent.name) for agent in agents]
    if options.json:
        print(json.dumps([asdict(figures) for figures in measured]))
        return
    for figures in measured:
        _show(figures)


def _plan(store: Store, agents: Sequence[AgentSpec], tasks: int) -> None:
    bank = load_bank("starter")
    atomic = [task for task in bank.tasks if task.tier is Tier.ATOMIC][:tasks]
    wanted = {file.sha256 for task in atomic for file in task.stored_files}
    files = {sha256: path for sha256, path in bank.files.items() if sha256 in wanted}
    release = store.add_release(_RUN, atomic, files)
    config = RunConfig(
        bank="starter", agents=tuple(agents), refinement_rounds=0, trials_per_worker=2
    )
    store.add_run(
        Run(
            id=_RUN,
            status=RunStatus.RUNNING,
            config=config,
            release_hash=release.hash,
            code_version="benchmark",
            created_at=datetime.now(UTC),
        )
    )


def _figures(store: Store, agent: str) -> Figures:
    results = [result for result in store.results(_RUN) if result.trial.agent == agent]
    outcomes = [result.outcome for result in results if result.outcome is not None]
    calls = sum(outcome.tool_calls or 0 for outcome in outcomes)
    failed = sum(outcome.tool_errors or 0 for outcome in outcomes)
    worked = [outcome.trial_id for outcome in outcomes if outcome.ending is not None]
    events = [event for trial_id in worked for event in store.transcript(trial_id).tool_events]
    kinds = Counter(f"{event.call.tool} {event.error}" for event in events if event.error)
    return Figures(
        agent=agent,
        failures=dict(kinds.most_common()),
        trials=len(results),
        tool_calls=calls,
        tool_sr=(calls - failed) / calls if calls else None,
        root_score=fmean(result.root_score or 0.0 for result in results),
        turns=fmean(outcome.turns or 0 for outcome in outcomes),
        seconds=fmean(outcome.wall_seconds or 0.0 for outcome in outcomes),
    )


def _show(figures: Figures) -> None:
    rate = "none called" if figures.tool_sr is None else f"{figures.tool_sr:.2f}"
    print(
        f"{figures.agent:>8}: {figures.trials} trials, {figures.tool_calls} tool calls, tool SR "
        f"{rate}, root score {figures.root_score:.2f}, {figures.turns:.1f} turns and "
        f"{figures.seconds:.0f} s a trial"
    )
    for failure, count in figures.failures.items():
        print(f"{'':>8}  failed: {count} x {failure}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m", help="name, or path of a GGUF file")
    parser.add_argument("--tasks", type=int, default=12)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=600.0, help="of one trial")
    parser.add_argument("--ways", nargs="+", default=["text", "grammar"])
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
