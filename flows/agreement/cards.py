"""Cards of judges as pages: written where the other pages are, and listed there."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.config import Settings
from taskdata.schema.agreement import JudgeCard
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
    return found
