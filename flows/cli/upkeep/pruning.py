"""The command `prune`: says which runs are old, and removes them where it is told to."""

from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Sized

    from flows.config import Settings
    from flows.upkeep.pruning import PrunePlan, PruneReport
    from taskdata.schema.retention import KeepRule


def prune(
    older_than: Annotated[
        str | None, typer.Option(metavar="AGE", help="Runs that ended longer ago go: 36h, 30d, 8w.")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(metavar="N", help="The newest N runs stay.", min=0)
    ] = None,
    unfinished: Annotated[
        bool, typer.Option("--unfinished", help="Also runs that failed or were interrupted.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove them, not only say it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which old runs would be removed, and how much room that makes; --yes removes them.

    With both --older-than and --keep, a run that either keeps stays. Without any, the table
    `retention` of nightshift.toml says it.
    """
    from flows.config import load_settings
    from flows.upkeep.pruning import plan_prune
    from flows.upkeep.pruning import prune as remove

    settings = load_settings()
    rule = _rule(settings, older_than, keep)
    if yes:
        report = remove(settings, rule, unfinished=unfinished)
        if as_json:
            console.write_json(report.model_dump(mode="json"))
        else:
            _tell_report(report)
        return
    plan = plan_prune(settings, rule, unfinished=unfinished)
    if as_json:
        console.write_json(plan.model_dump(mode="json"))
    else:
        _tell_plan(plan)


def _rule(settings: "Settings", older_than: str | None, keep: int | None) -> "KeepRule":
    from pydantic import ValidationError

    from taskdata.banks.loader import describe
    from taskdata.errors import Misuse
    from taskdata.schema.retention import KeepRule

    given = settings.retention
    if older_than is None and keep is None:
        return given
    fields = {"older_than": older_than, "keep": keep, "always_keep": given.always_keep}
    try:
        return KeepRule.model_validate(fields)
    except ValidationError as exc:
        raise Misuse(f"prune: {describe(exc)}") from exc


def _tell_plan(plan: "PrunePlan") -> None:
    from flows.upkeep.sizes import readable

    if plan.runs:
        console.table(
            [
                {
                    "run": run.id,
                    "date": f"{run.created_at:%Y-%m-%d}" if run.created_at else "begun before",
                    "trials": str(run.trials),
                    "pages": readable(run.page_bytes),
                }
                for run in plan.runs
            ],
            title="Would be removed",
        )
    console.say(
        f"{_counted(plan.runs)} would go, and with them {plan.artifacts} files that nothing else "
        f"needs ({readable(plan.artifact_bytes)}) and {readable(plan.page_bytes)} of pages"
    )
    _tell_kept(plan)
    _tell_young(plan)
    if plan.runs or plan.artifacts:
        console.say("Nothing was removed; --yes does it")


def _tell_report(report: "PruneReport") -> None:
    from flows.upkeep.sizes import readable

    plan = report.plan
    console.say(
        f"{_counted(report.removed)} removed, with "
        f"{readable(plan.artifact_bytes - plan.young_bytes + plan.page_bytes)} of files and pages"
    )
    _tell_kept(plan)
    _tell_young(plan)
    for run_id in report.busy:
        console.say(f"{run_id} stays: a process has taken it up")


def _counted(runs: "Sized") -> str:
    """Return how many runs these are, in words."""
    return f"{len(runs)} run{'s' * (len(runs) != 1)}"


def _tell_kept(plan: "PrunePlan") -> None:
    for reason, count in plan.kept.items():
        console.say(f"{count} stay: {reason}")


def _tell_young(plan: "PrunePlan") -> None:
    from flows.upkeep.sizes import readable

    if plan.young:
        console.say(
            f"{plan.young} of the files ({readable(plan.young_bytes)}) are less than a day old and "
            "may be in use; a later prune removes them"
        )
