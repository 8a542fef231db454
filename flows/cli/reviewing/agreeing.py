"""The command `review agreement`: how far reviewers agree."""

from typing import TYPE_CHECKING

from flows.cli import console
from flows.cli.bank.reviews import RefreshOption
from flows.cli.options import JsonOption

if TYPE_CHECKING:
    from taskdata.schema.review import ItemAgreement


def agreement(refresh: RefreshOption = None, as_json: JsonOption = False) -> None:
    """Show how far reviewers agree on the verdict and on each item of the checklist."""
    from flows.config import load_settings
    from stages.release.reviewing.agreement import agreement_of
    from taskdata.store import Store

    found = agreement_of(Store.open(load_settings().address), refresh)
    if as_json:
        console.write_json({"agreement": None if found is None else found.model_dump(mode="json")})
        return
    if found is None:
        console.say(
            "No two people have reviewed the same draft; `reviewers = 2` under [refresh] asks two"
        )
        return
    console.table(
        [_row(one) for one in found.items],
        title=f"{found.tasks} tasks, reviewed by {', '.join(found.reviewers)}",
    )
    console.paragraph(
        "Cohen's kappa of answers that people gave without knowing each other's, with 95 % "
        "intervals from a bootstrap over tasks. It is undefined where all gave one answer."
    )


def _row(one: "ItemAgreement") -> dict[str, str]:
    return {
        "item": one.item.replace("_", " "),
        "tasks": str(one.tasks),
        "agreed": f"{one.agreed} of {one.pairs}",
        "kappa": kappa_told(one),
    }


def kappa_told(one: "ItemAgreement") -> str:
    """Return kappa with its interval, where there are enough tasks for one."""
    if one.kappa.mean is None:
        return "undefined" if one.pairs else "-"
    told = f"{one.kappa.mean:.2f}"
    if one.kappa.ci95 is not None:
        told += f" ({one.kappa.ci95[0]:.2f} to {one.kappa.ci95[1]:.2f})"
    return told
