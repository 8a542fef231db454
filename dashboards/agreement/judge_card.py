"""A judge's card as a page: what was measured, beside what is demanded."""

import re
from typing import Any

from dashboards.pages.page import page
from taskdata.schema.agreement import JudgeCard, Minima

_UNSAFE = re.compile(r"[^\w.@\-]+")


def build_judge_card(card: JudgeCard, minima: Minima) -> str:
    """Return the card as an HTML page that needs nothing but a browser."""
    context: dict[str, Any] = {
        "card": card,
        "minima": minima,
        "short": card.shortfalls(minima),
        "measures": {
            "pearson": "Pearson's correlation",
            "icc": "ICC(2,1)",
            "mae": "Mean absolute error",
            "within_one": "Within one point",
            "accuracy": "Same verdict, passed or failed",
            "kappa": "Cohen's kappa",
        },
    }
    return page(context, {}, "judge_card.html", ())


def card_page(judge: str) -> str:
    """Return the name of the page of a judge's card."""
    return f"{_UNSAFE.sub('-', judge).strip('.-')[:120] or 'judge'}.html"
