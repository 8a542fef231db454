"""The command `rescore`: a run's trials are scored once more, and no agent works again."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from flows.cli.runs.evaluating import evaluate, tell_verdict
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.run import Run, RunConfig
    from taskdata.store import Store


def rescore(
    run_id: Annotated[str, typer.Argument(help="Run whose trials are scored again, or `latest`.")],
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="provider/model that scores rubrics; repeatable, for a panel; default: the run's "
            "own, asked only what it was not asked before."
        ),
    ] = None,
    panel: Annotated[
        str | None,
        typer.Option(help="mean, median or majority of several judges; default: as in [run]."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Of this scoring, part of its run's id; default: by its judges."),
    ] = None,
    max_usd: Annotated[
        float | None, typer.Option(help="What the judge may cost; default: no limit.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Score a run again: with another judge, or with the checks of today.

    The new scores are a run of their own beside the old ones, over the same transcripts and
    deliverables. The same command carries on a rescoring that was interrupted.

    Exit codes are those of `nightshift run`.
    """
    from flows.config import load_settings
    from stages.prepare.rescore import default_name, plan_rescoring
    from stages.prepare.work import require
    from taskdata.schema.run import RunStatus
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        source = _latest(store) if run_id == "latest" else store.run(run_id)
        config = _config(settings, source, judge or None, panel, max_usd)
        require(config)
        _require_over(settings, source)
        run = plan_rescoring(store, source, config, name or default_name(config))
        if max_usd is not None:
            store.set_max_usd(run.id, max_usd)
        config = store.run(run.id).config
    if run.status is RunStatus.COMPLETED and not as_json:
        console.paragraph(f"Run {run.id} is complete already; another --name scores once more.")
    evaluate(settings, run.id, config, as_json=as_json)
    tell_verdict(settings, run.id)


def _latest(store: "Store") -> "Run":
    """Return the newest run in which agents worked.

    Raises:
        Misuse: if there is none yet.
    """
    newest = next((run for run in store.runs() if run.config.rescores is None), None)
    return newest or store.latest_run()


def _config(
    settings: "Settings",
    source: "Run",
    judge: list[str] | None,
    panel: str | None,
    max_usd: float | None,
) -> "RunConfig":
    """Return the configuration of a rescoring; judges are asked where `[run]` says.

    Raises:
        Misuse: if a judge, the panel or the limit does not fit.
    """
    from flows.config import run_config
    from stages.prepare.rescore import rescoring_config

    given = run_config(settings, judge=judge, panel=panel, max_usd=max_usd)
    names = ["judge", "judge_base_url", "judges", "panel", "judging"] if judge is not None else []
    names += ["panel"] * (panel is not None) + ["max_usd"] * (max_usd is not None)
    changes: dict[str, Any] = {name: getattr(given, name) for name in names}
    return rescoring_config(source, keeps_verdicts=judge is None, **changes)


def _require_over(settings: "Settings", source: "Run") -> None:
    """Raise `Misuse` for a run that is being worked on: its trials are not all there yet."""
    from flows.locks import is_worked_on

    if is_worked_on(settings, source.id):
        raise Misuse(f"run {source.id} is being worked on; rescore it once it has ended")
