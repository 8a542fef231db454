"""What `refresh --plan-cases BANK --dry-run` shows: which cases could be made, and what of."""

from typing import TYPE_CHECKING

from flows.cli import console
from flows.cli.bank.refreshing import write_asks

if TYPE_CHECKING:
    from stages.construct.planning.estimate import CasesEstimate, CaseSource
    from taskdata.schema.construct import RefreshConfig
    from taskdata.store import Store

_SHOWN = 100


def show_plan_cases(store: "Store", config: "RefreshConfig", as_json: bool) -> None:
    """Write how many cases of each setting a refresh would make, of what, and at which cost."""
    from stages.construct.planning.estimate import estimate_cases

    found = estimate_cases(store, config)
    if as_json:
        console.write_json(found.model_dump(mode="json"))
        return
    rows = [
        {"setting": name.replace("_", " "), "cases": str(count)}
        for name, count in found.cases.items()
    ]
    console.table(rows, title=f"Planning cases of bank {found.bank}: {sum(found.cases.values())}")
    _write_sources(found)
    if found.model is None:
        console.paragraph(
            "No model would be asked. The settings extraneous, broken, unsolvable and efficiency "
            "need words: --plan-words FOLDER, or --model provider/model."
        )
        return
    title = f"At most, with {found.model}, for the words and an opinion on each case"
    write_asks(found.asks, found.cost_usd, found.beyond, title)


def _write_sources(found: "CasesEstimate") -> None:
    rows = [
        {
            "task": one.task_id,
            "steps": str(one.steps),
            "cases": str(one.cases),
            "trajectory": _origin(one),
        }
        for one in found.sources[:_SHOWN]
    ]
    console.table(rows, title=f"Trajectories to cut them from: {len(found.sources)}")
    hidden = len(found.sources) - len(rows)
    if hidden:
        console.say(f"... and {hidden} more, which --json has")
    if found.without:
        console.paragraph(f"Without a trajectory: {', '.join(found.without[:_SHOWN])}")
    for line in found.left_out:
        console.say(f"- {line}")
    if any(one.to_be_played for one in found.sources):
        console.paragraph(
            "References that were not recorded are played first, without a model; of one that "
            "fails no case is made."
        )


def _origin(source: "CaseSource") -> str:
    if source.trial_id is not None:
        return f"trial {source.trial_id}"
    return "reference, to be played" if source.to_be_played else "reference, as recorded"
