"""The card of a judge of plans as a page: both modes side by side, and the bias by agent."""

from dashboards.agreement.judge_card import card_page
from dashboards.pages.page import page
from taskdata.schema.plan_agreement import PlanJudgeCard

MEASURES = {
    "agreement": "Agreement on correctness",
    "precision": "Precision",
    "recall": "Recall",
    "f1": "F1",
    "grade_mae": "Mean absolute error of the grade",
    "error_types": "Agreement of error types",
}


def build_plan_card(card: PlanJudgeCard) -> str:
    """Return the card as an HTML page that needs nothing but a browser."""
    columns = []
    for name, mode in card.modes.items():
        columns.append((name, mode.whole))
        if mode.by_code and mode.asked.agreement.n:
            columns.append((f"{name}, judge asked", mode.asked))
    context = {"card": card, "measures": MEASURES, "columns": columns}
    return page(context, {}, "plan_card.html", ())


def plan_card_page(judge: str) -> str:
    """Return the name of the page of the card of a judge of plans."""
    return f"plans-{card_page(judge)}"
