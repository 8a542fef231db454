"""What the judge of a run has shown so far."""

from taskdata.schema.agreement import Minima
from taskdata.schema.plan_agreement import BLIND, WITH_REFERENCE, judge_of
from taskdata.store import Store


def judge_notice(store: Store, run_id: str, minima: Minima) -> str | None:
    """Return what must be said of a run's judges before any number; None: nothing.

    A run without judged leaves, and one whose judges reach the minima, say nothing.
    """
    told = [text for judge in store.judges_of_run(run_id) if (text := _told(store, judge, minima))]
    shown = {(card.judge, mode) for card in store.plan_cards() for mode in card.modes}
    for rater in store.judges_of_run(run_id, plans=True):
        judge, is_blind = judge_of(rater)
        if (judge, BLIND if is_blind else WITH_REFERENCE) not in shown:
            told.append(
                f"Judge {rater} has no card about plans: nothing shows yet that it agrees with "
                "people (`nightshift annotate --plans`, then `nightshift agreement --plans`)."
            )
    return " ".join(told) or None


def _told(store: Store, judge: str, minima: Minima) -> str | None:
    card = store.judge_card(judge)
    if card is None:
        return (
            f"Judge {judge} has no card: nothing shows yet that it agrees with people "
            "(`nightshift annotate`, then `nightshift agreement --run`)."
        )
    short = card.shortfalls(minima)
    if not short:
        return None
    return f"Judge {judge} falls short against people ({card.evidence}): {'; '.join(short)}."
