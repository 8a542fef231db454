"""What `nightshift agreement --labels` does: agreement on failure labels, as cards of labellers."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.estimate import Estimate
    from taskdata.schema.label_agreement import (
        LabelAgreement,
        LabelCard,
        LabelRating,
    )
    from taskdata.store import Store


def compare_labels(
    file: Path | None, run_id: str | None, export: Path | None, *, as_json: bool
) -> None:
    """Write how far labels agree, and keep it as a card for each labeller.

    Args:
        file: CSV of labels; None: those that people gave to the run's trials.
        run_id: The run with the labellers' labels; None: they are in the file.
        export: Where all labels are written, too.
        as_json: Whether cards are written as JSON.
    """
    from flows.agreement.label_cards import write_label_card
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        ratings, evidence = _gathered(store, file, run_id)
        if export is not None:
            from taskdata.formats.human_labels import write_labels

            write_labels(ratings, export)
            console.note(f"the labels of {len(ratings)} raters and trials are in {export}")
        cards = _cards(ratings, evidence)
        for card in cards:
            store.save_label_card(card)
        pages = {card.labeller: write_label_card(settings, card) for card in cards}
    if as_json:
        found = [card.model_dump(mode="json") for card in cards]
        console.write_json({"cards": found, "pages": {k: str(p) for k, p in pages.items()}})
        return
    for card in cards:
        _write(card, pages[card.labeller])


def _gathered(
    store: "Store", file: Path | None, run_id: str | None
) -> "tuple[list[LabelRating], str]":
    """Return the labels, and where they are from."""
    from flows.agreement.labels import labels_of_run, matched_labels
    from taskdata.formats.human_labels import read_labels

    given = [] if file is None else read_labels(file)
    name = "" if file is None else file.name
    if run_id is None:
        return given, name
    found, source = labels_of_run(store, store.run(run_id))
    if file is not None:
        by_labellers = [rating for rating in found if rating.is_labeller]
        return [*by_labellers, *matched_labels(given, source, found)], f"{name}, {source.id}"
    if all(rating.is_labeller for rating in found):
        raise Misuse(
            f"nobody has labelled run {source.id}; `nightshift annotate {source.id} --labels` "
            "opens the page on which people do"
        )
    return found, source.id


def _cards(ratings: "list[LabelRating]", evidence: str) -> "list[LabelCard]":
    from datetime import UTC, datetime

    from quality.agreement.label_card import label_card, labellers_of
    from taskdata.version import code_version

    labellers = labellers_of(ratings)
    if not labellers:
        raise Misuse(
            "there are no labels of a labeller; name the run with --run, or see docs/agreement.md "
            "for the columns"
        )
    now, version = datetime.now(UTC), code_version()
    return [label_card(ratings, one, evidence, version, now) for one in labellers]


def _write(card: "LabelCard", page: Path) -> None:
    from dashboards.pages.formats import plural

    people = plural(len(card.annotators), "annotator")
    console.say(
        f"Labels of {card.labeller}: {plural(card.trials, 'failed trial')}, "
        f"{plural(card.tasks, 'task')}, {people}"
    )
    for first, second in card.raters:
        console.table(
            [row for one in card.labels for row in _pair_rows(one, first, second)],
            title=f"{first} and {second}: Cohen's kappa",
        )
    found = [_detected(one) for one in card.labels if _is_given(one, card.labeller)]
    if found:
        console.table(found, title=f"{card.labeller} against people")
    console.paragraph(
        "Kappa with 95 % intervals from a bootstrap over tasks. It is undefined where both raters "
        "always or never gave a label; labels that neither gave are left out here. "
        "docs/failures.md defines the labels."
    )
    console.say(f"Card: {page}")


def _pair_rows(one: "LabelAgreement", first: str, second: str) -> Iterator[dict[str, str]]:
    for pair in one.pairs:
        if (pair.first, pair.second) == (first, second) and (pair.by_first or pair.by_second):
            yield {
                "label": _named(one),
                "n": str(pair.kappa.n),
                f"by {first}": str(pair.by_first),
                f"by {second}": str(pair.by_second),
                "by both": str(pair.by_both),
                "prevalence": f"{pair.prevalence or 0:.0%}",
                "kappa": f"undefined: {pair.undefined}" if pair.undefined else _told(pair.kappa),
            }


def _is_given(one: "LabelAgreement", labeller: str) -> bool:
    """Return whether the labeller or a person gave the label."""
    found = one.detection
    return found is not None and bool(found.precision.n or found.recall.n)


def _detected(one: "LabelAgreement") -> dict[str, str]:
    found = one.detection
    if found is None:
        return {}
    return {
        "label": _named(one),
        "precision": _told(found.precision),
        "of its": str(found.precision.n),
        "recall": _told(found.recall),
        "of people's": str(found.recall.n),
        "F1": _told(found.f1),
    }


def _named(one: "LabelAgreement") -> str:
    kind = one.kind.replace("_", " ")
    return f"{kind}, all at once" if one.name is None else f"{kind}: {one.name.replace('_', ' ')}"


def _told(estimate: "Estimate") -> str:
    if estimate.mean is None:
        return "-"
    # A zero that is added makes a rounded -0 plain.
    mean, *ends = (round(value, 2) + 0.0 for value in (estimate.mean, *(estimate.ci95 or ())))
    return f"{mean:.2f} ({ends[0]:.2f} to {ends[1]:.2f})" if ends else f"{mean:.2f}"
