"""The command `runs`: every run of this installation, newest first."""

from typing import TYPE_CHECKING

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taskdata.schema.run import Run, RunFigures


def runs(as_json: JsonOption = False) -> None:
    """List the runs, newest first: when, what, the best agent's score, cost and how it went."""
    from flows.config import load_settings
    from flows.run_status import status_of
    from taskdata.schema.run import RunFigures
    from taskdata.store import Store

    settings = load_settings()
    store = Store.open(settings.address)
    figures = store.figures()
    found = [
        (run, status_of(settings, store, run), figures.get(run.id, RunFigures()))
        for run in store.runs()
    ]
    store.close()
    if as_json:
        console.write_json({"runs": [_for_programs(*one) for one in found]})
        return
    console.table([_row(*one) for one in found], title="Runs")
    latest = found[0][0] if found else None
    if latest is not None and latest.error:
        console.say(f"{latest.id}: {latest.error}")


def _for_programs(run: "Run", status: str, figures: "RunFigures") -> dict[str, object]:
    return {
        "id": run.id,
        "status": status,
        "bank": run.config.bank,
        "rescores": run.config.rescores,
        "judge": run.config.judge_name,
        "agents": [agent.name for agent in run.config.agents],
        "best_score": _best(run, figures),
        "cost_usd": figures.cost_usd,
        "errors": figures.errors,
        "created_at": run.created_at.isoformat(timespec="seconds"),
        "finished_at": run.finished_at and run.finished_at.isoformat(timespec="seconds"),
        "dashboard": run.dashboard,
        "error": run.error,
    }


def _row(run: "Run", status: str, figures: "RunFigures") -> dict[str, str]:
    """Return the cells of a run, in two lines each, for eight columns do not fit a terminal."""
    best = _best(run, figures)
    cost = "-" if figures.cost_usd is None else f"${figures.cost_usd:.2f}"
    return {
        "run\ndate": "\n".join(_named(run)),
        "bank": run.config.bank,
        "agents": "\n".join(agent.name for agent in run.config.agents),
        "best\ncost": f"{'-' if best is None else f'{best:.2f}'}\n{cost}",
        "status\nerrors": f"{status}\n{figures.errors or 'no'} error{'s' * (figures.errors != 1)}",
    }


def _named(run: "Run") -> "Iterator[str]":
    source = run.config.rescores
    if source:
        # Together they are wider than the column, which would break them anywhere.
        yield source
        yield run.id.removeprefix(source)
        yield f"rescored by {run.config.judge_name or 'checks'}"
    else:
        yield run.id
    yield f"{run.created_at.astimezone():%Y-%m-%d %H:%M}"


def _best(run: "Run", figures: "RunFigures") -> float | None:
    """Return the best mean root score of an agent; controls compete with nobody."""
    competing = {agent.name for agent in run.config.agents if not agent.is_control}
    return max((s for name, s in figures.scores.items() if name in competing), default=None)
