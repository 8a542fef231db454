"""Cards of labellers of failures as pages: beside those of judges, and listed there."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.config import Settings
from taskdata.schema.label_agreement import LabelCard
from taskdata.store import Store

if TYPE_CHECKING:
    from dashboards.index import ListedLabeller


def write_label_card(settings: Settings, card: LabelCard) -> Path:
    """Write the page of a card; return where it is."""
    from dashboards.agreement.label_card import build_label_card, label_card_page

    page = settings.judges_folder / label_card_page(card.labeller)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(build_label_card(card), encoding="utf-8")
    return page


def listed_labellers(settings: Settings, store: Store) -> "list[ListedLabeller]":
    """Return the labellers that have a card, with a page of each, written if it is not there."""
    from dashboards.agreement.label_card import label_card_page
    from dashboards.index import ListedLabeller

    found = []
    for card in store.label_cards():
        page = settings.judges_folder / label_card_page(card.labeller)
        if not page.is_file():
            write_label_card(settings, card)
        found.append(ListedLabeller(labeller=card.labeller, page=page.name, trials=card.trials))
    return found
