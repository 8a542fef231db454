"""The exit code of a run that is over, for schedulers and CI."""

import math
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flows.config import Settings
    from taskdata.schema.agent import AgentSpec
    from taskdata.schema.summary import RunSummary

UNEVALUATED = 3
"""Of a run some of whose trials have no score, though the run went to its end."""

BELOW = 4
"""Of a run that was evaluated, with an agent below `--fail-under`."""

FailUnderOption = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        min=0,
        max=10,
        help="End with exit code 4 if the root score of an agent is lower; controls do not count.",
    ),
]


def require_comparable(agents: "Iterable[AgentSpec]", fail_under: float | None) -> None:
    """Raise `Misuse` where `--fail-under` could never tell anything."""
    if fail_under is None:
        return
    if math.isnan(fail_under):
        raise Misuse("--fail-under: expected a root score from 0 to 10")
    if all(agent.is_control for agent in agents):
        raise Misuse("--fail-under: reference and nop are controls; no agent is left to compare")


def require_evaluated(summary: "RunSummary", *, retry: str) -> None:
    """Exit with code 3, saying how many, where trials have no score.

    Args:
        summary: Of the run.
        retry: The command that tries them again.
    """
    if summary.unevaluated:
        trials = "1 trial has" if summary.unevaluated == 1 else f"{summary.unevaluated} trials have"
        console.error(f"{trials} no score; {retry} tries again (exit code {UNEVALUATED})")
        raise typer.Exit(UNEVALUATED)


def require_score(summary: "RunSummary", fail_under: float | None) -> None:
    """Exit with code 4, naming them, where agents are below; one without a score is below."""
    if fail_under is None:
        return
    below = [
        agent
        for agent in summary.agents
        if not agent.is_control and (agent.root_score.mean or 0.0) < fail_under
    ]
    for agent in below:
        mean = agent.root_score.mean
        score = "has no score" if mean is None else f"has root score {mean:.2f}"
        console.error(f"{agent.agent} {score}, below --fail-under {fail_under:g}")
    if below:
        raise typer.Exit(BELOW)


def what_helps(settings: "Settings", run_id: str) -> str:
    """Return what to do about a run that failed."""
    from taskdata.schema.gate import TASKS
    from taskdata.store import Store

    with closing(Store(settings.address)) as store:
        refused = any(gate.gate == TASKS and not gate.success for gate in store.gates(run_id))
    if refused:
        return "this run keeps the tasks it began with: mend them and start a new run"
    return f"`nightshift run --resume {run_id}` carries it on"
