"""The command `agreement`: whether a judge agrees with people, as a card."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli import console
from flows.cli.options import JsonOption
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from flows.config import Settings
    from taskdata.schema.agreement import Agreement, JudgeCard, Rating
    from taskdata.schema.estimate import Estimate
    from taskdata.store import Store

_THRESHOLD = 7.0


def agreement(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="CSV of scores, labels or marks of plans; docs/agreement.md has the columns."
        ),
    ] = None,
    run_id: Annotated[
        str | None,
        typer.Option(
            "--run", help="Run with scores or labels, and with people's if no FILE is given."
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Only this judge; default: all of them.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=10, help="A score above passes; default: the run's, else 7."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write all scores, labels or marks to this CSV file, too."),
    ] = None,
    labels: Annotated[
        bool,
        typer.Option("--labels", help="Compare failure labels instead of scores."),
    ] = False,
    plans: Annotated[
        bool,
        typer.Option("--plans", help="Compare marks of plans; --run is then the latest run."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how far judges agree with people, and keep it as a card for each judge.

    With --labels: how far the failure labels of rules, of models and of people agree, label by
    label. With --plans: how far a judge's marks of plans are those of people, with the reference
    at hand and blind.
    """
    if plans:
        from flows.cli.agreement.plans import compare_plans

        if labels or threshold is not None:
            raise Misuse("leave out --labels and --threshold: with --plans no score is compared")
        compare_plans(file, run_id, export, judge, as_json=as_json)
        return
    if file is None and run_id is None:
        raise Misuse("name a CSV file of scores, or --run RUN with annotated trials")
    if labels:
        from flows.cli.agreement.labels import compare_labels

        if judge is not None or threshold is not None:
            raise Misuse("leave out --judge and --threshold: with --labels no score is compared")
        compare_labels(file, run_id, export, as_json=as_json)
        return
    _compare_scores(file, run_id, export, judge, threshold, as_json=as_json)


def _compare_scores(
    file: Path | None,
    run_id: str | None,
    export: Path | None,
    judge: str | None,
    threshold: float | None,
    *,
    as_json: bool,
) -> None:
    """Keep the cards of the judges of a file or a run, and write them."""
    from flows.agreement.cards import write_card
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        ratings, evidence, passing = _gathered(store, file, run_id)
        if export is not None:
            from taskdata.formats.human_scores import write_ratings

            write_ratings(ratings, export)
            console.note(f"{len(ratings)} scores are in {export}")
        cards = _cards(ratings, judge, threshold or passing, evidence)
        for card in cards:
            store.save_judge_card(card)
        pages = {card.judge: write_card(settings, card) for card in cards}
    if as_json:
        minima = settings.agreement
        found = [
            {**card.model_dump(mode="json"), "falls_short": card.shortfalls(minima)}
            for card in cards
        ]
        console.write_json({"cards": found, "pages": {j: str(p) for j, p in pages.items()}})
        return
    for card in cards:
        _write(settings, card, pages[card.judge])


def _gathered(
    store: "Store", file: Path | None, run_id: str | None
) -> "tuple[list[Rating], str, float]":
    """Return the scores, where they are from, and above which score something passes."""
    from flows.agreement.ratings import matched, ratings_of_run
    from taskdata.formats.human_scores import read_ratings

    given = [] if file is None else read_ratings(file)
    name = "" if file is None else file.name
    if run_id is None:
        return given, name, _THRESHOLD
    run = store.run(run_id)
    found, runs = ratings_of_run(store, run)
    if file is not None:
        judged = [rating for rating in found if rating.is_judge]
        found = [*judged, *matched(given, run, judged)]
    elif not any(not rating.is_judge for rating in found):
        raise Misuse(f"nobody has scored run {runs[0].id}; `nightshift annotate {runs[0].id}`")
    sources = [*([name] if name else []), *(one.id for one in runs)]
    return found, ", ".join(sources), run.config.threshold


def _cards(
    ratings: "list[Rating]", judge: str | None, threshold: float, evidence: str
) -> "list[JudgeCard]":
    from datetime import UTC, datetime

    from quality.agreement.card import judge_card, judges_of
    from taskdata.version import code_version

    judges = judges_of(ratings)
    if not judges:
        raise Misuse("there are no scores of a judge; see docs/agreement.md for the columns")
    if judge is not None and judge not in judges:
        raise Misuse(f"no judge {judge!r} there; there are: {', '.join(judges)}")
    now, version = datetime.now(UTC), code_version()
    wanted = judges if judge is None else [judge]
    return [judge_card(ratings, one, threshold, evidence, version, now) for one in wanted]


def _write(settings: "Settings", card: "JudgeCard", page: Path) -> None:
    people = card.between_annotators
    columns = {
        "judge, tasks": card.agreement.task,
        "judge, leaves": card.agreement.leaf,
        **({} if people is None else {"people, tasks": people.task, "people, leaves": people.leaf}),
    }
    console.table(
        [_row(label, name, columns) for name, label in _MEASURES.items()],
        title=f"Judge {card.judge}: {card.leaves} leaves, {card.outputs} outputs, "
        f"{card.tasks} tasks, {len(card.annotators)} annotators",
    )
    if card.retest is not None:
        console.say(f"Asked again: mean absolute error {_estimate(card.retest.mae)}")
    for other in card.judges:
        ranks = (
            "too few agents to rank"
            if other.spearman is None
            else f"Spearman {other.spearman:.2f}, Kendall {other.kendall:.2f}"
        )
        console.say(f"Against {other.other} over {other.agents} agents: {ranks}")
    for probe in card.probes:
        effect = "" if probe.effect is None else f" {_estimate(probe.effect)}."
        console.paragraph(f"Probe for {probe.name}:{effect} {probe.what}")
    console.paragraph(
        f"Means with 95 % intervals from a bootstrap over tasks. {card.icc_form}. Passed is above "
        f"{card.threshold:g}."
    )
    short = card.shortfalls(settings.agreement)
    console.paragraph(
        f"It falls short: {'; '.join(short)}." if short else "It reaches what is demanded."
    )
    console.say(f"Card: {page}")


_MEASURES = {
    "pearson": "Pearson",
    "icc": "ICC(2,1)",
    "mae": "mean absolute error",
    "within_one": "within one point",
    "accuracy": "same verdict",
    "kappa": "Cohen's kappa",
}


def _row(label: str, name: str, columns: "dict[str, Agreement]") -> dict[str, str]:
    cells = {column: _estimate(getattr(found, name)) for column, found in columns.items()}
    return {"": label, **cells}


def _estimate(estimate: "Estimate") -> str:
    if estimate.mean is None:
        return "-"
    if estimate.ci95 is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ({estimate.ci95[0]:.2f} to {estimate.ci95[1]:.2f})"
