"""A card of failure labels as a page: how far rules, models and people agree, label by label."""

from dashboards.agreement.judge_card import card_page
from dashboards.pages.page import page
from taskdata.label_definitions import DEFINITIONS
from taskdata.schema.label_agreement import LabelAgreement, LabelCard, LabelPair


def build_label_card(card: LabelCard) -> str:
    """Return the card as an HTML page that needs nothing but a browser."""
    context = {
        "card": card,
        "pairs": [(*pair, _rows(card, *pair), _unused(card, *pair)) for pair in card.raters],
        "detected": [one for one in card.labels if _is_given(one)],
        "meaning": lambda kind, name: "" if name is None else DEFINITIONS[kind].get(name, ""),
    }
    return page(context, {}, "label_card.html", ())


def label_card_page(labeller: str) -> str:
    """Return the name of the page of a labeller's card."""
    return f"labels-{card_page(labeller)}"


def _of_pair(card: LabelCard, first: str, second: str) -> list[tuple[LabelAgreement, LabelPair]]:
    return [
        (one, pair)
        for one in card.labels
        for pair in one.pairs
        if (pair.first, pair.second) == (first, second)
    ]


def _rows(card: LabelCard, first: str, second: str) -> list[tuple[LabelAgreement, LabelPair]]:
    """Return the labels that one of both gave."""
    return [(o, p) for o, p in _of_pair(card, first, second) if p.by_first or p.by_second]


def _unused(card: LabelCard, first: str, second: str) -> int:
    """Return the number of labels that neither gave."""
    found = _of_pair(card, first, second)
    return sum(o.name is not None and not (p.by_first or p.by_second) for o, p in found)


def _is_given(one: LabelAgreement) -> bool:
    found = one.detection
    return found is not None and bool(found.precision.n or found.recall.n)
