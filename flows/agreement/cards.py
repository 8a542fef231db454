"""Cards of judges as pages: written where the other pages are, and listed there."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.config import Settings
from taskdata.schema.agreement import JudgeCard
from taskdata.schema.plan_agreement import PlanJudgeCard, judge_of
from taskdata.store import Store

if TYPE_CHECKING:
    from dashboards.index import ListedJudge


def write_card(settings: Settings, card: JudgeCard) -> Path:
    """Write the page of a card; return where it is."""
    from dashboards.agreement.judge_card import build_judge_card, card_page

    page = settings.judges_folder / card_page(card.judge)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(build_judge_card(card, settings.agreement), encoding="utf-8")
    return page


def listed_judges(
    settings: Settings, store: Store, run_id: str | None = None
) -> "list[ListedJudge]":
    """Return the judges that have a card, with a page of each, which is written if it is not there.

    Args:
        settings: Where the pages are, and what is demanded of a judge.
        store: Where the cards are.
        run_id: Only judges that gave this run's trials a score; None: all of them.
    """
    from dashboards.agreement.judge_card import card_page
    from dashboards.index import ListedJudge

    of_run = None if run_id is None else store.judges_of_run(run_id)
    found = []
    for card in store.judge_cards():
        if of_run is not None and card.judge not in of_run:
            continue
        page = settings.judges_folder / card_page(card.judge)
        if not page.is_file():
            write_card(settings, card)
        found.append(
            ListedJudge(
                judge=card.judge,
                page=page.name,
                leaves=card.leaves,
                falls_short=bool(card.shortfalls(settings.agreement)),
            )
        )
    return found + _listed_of_plans(settings, store, run_id)


def write_plan_card(settings: Settings, card: PlanJudgeCard) -> Path:
    """Write the page of a card of a judge of plans; return where it is."""
    from dashboards.agreement.plan_card import build_plan_card, plan_card_page

    page = settings.judges_folder / plan_card_page(card.judge)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(build_plan_card(card), encoding="utf-8")
    return page


def _listed_of_plans(settings: Settings, store: Store, run_id: str | None) -> "list[ListedJudge]":
    """Return the judges of plans that have a card; of a run, those that judged in either mode."""
    from dashboards.agreement.plan_card import plan_card_page
    from dashboards.index import ListedJudge

    raters = () if run_id is None else store.judges_of_run(run_id, plans=True)
    named = {judge_of(rater)[0] for rater in raters}
    found = []
    for card in store.plan_cards():
        if run_id is not None and card.judge not in named:
            continue
        page = settings.judges_folder / plan_card_page(card.judge)
        if not page.is_file():
            write_plan_card(settings, card)
        found.append(ListedJudge(judge=card.judge, page=page.name, plans=card.plans))
    return found
