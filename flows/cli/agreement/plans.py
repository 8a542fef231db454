"""What `nightshift agreement --plans` does: agreement on plans, as cards of their judges."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from flows.cli import console
from taskdata.errors import Misuse

if TYPE_CHECKING:
    from taskdata.schema.estimate import Estimate
    from taskdata.schema.plan_agreement import (
        PlanBias,
        PlanJudgeCard,
        PlanMode,
        PlanRating,
    )
    from taskdata.store import Store

_MEASURES = {
    "agreement": "agreement",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "grade_mae": "MAE of grade",
    "error_types": "error types",
}


def compare_plans(
    file: Path | None, run_id: str | None, export: Path | None, judge: str | None, *, as_json: bool
) -> None:
    """Write how far judges of plans agree with people, and keep it as a card for each judge.

    Args:
        file: CSV of marks; None: those that people gave to the run's plans.
        run_id: The run with the judges' marks; None: they are in the file, or, without one, in the
            latest run.
        export: Where all marks are written, too.
        judge: Only this judge; None: all of them.
        as_json: Whether cards are written as JSON.
    """
    from flows.agreement.cards import write_plan_card
    from flows.config import load_settings
    from taskdata.store import Store

    settings = load_settings()
    with closing(Store.open(settings.address)) as store:
        if file is None and run_id is None:
            run_id = store.latest_run().id
        ratings, evidence = _gathered(store, file, run_id)
        if export is not None:
            from taskdata.formats.plan_marks import write_plan_marks

            write_plan_marks(ratings, export)
            console.note(f"{len(ratings)} marks of plans are in {export}")
        cards = _cards(ratings, judge, evidence)
        for card in cards:
            store.save_plan_card(card)
        pages = {card.judge: write_plan_card(settings, card) for card in cards}
    if as_json:
        found = [card.model_dump(mode="json") for card in cards]
        console.write_json({"cards": found, "pages": {k: str(p) for k, p in pages.items()}})
        return
    for card in cards:
        _write(card, pages[card.judge])


def _gathered(
    store: "Store", file: Path | None, run_id: str | None
) -> "tuple[list[PlanRating], str]":
    """Return the marks, and where they are from."""
    from flows.agreement.plans import marks_of_run, plans_of_run
    from taskdata.formats.plan_marks import read_plan_marks

    if run_id is None:
        if file is None:
            raise Misuse("name a CSV file of marks, or --run RUN")
        return read_plan_marks(file), file.name
    found, runs = marks_of_run(store, store.run(run_id))
    source, names = runs[0], ", ".join(run.id for run in runs)
    if not any(one.is_judge for one in found):
        raise Misuse(
            f"run {source.id} has no scored plans; agents answer planning cases with "
            "`nightshift run --mode plan` (docs/planning.md)"
        )
    if file is not None:
        given = read_plan_marks(file, plans_of_run(store, source))
        judged = [one for one in found if one.is_judge]
        return [*judged, *given], f"{file.name}, {names}"
    if all(one.is_judge for one in found):
        raise Misuse(
            f"nobody has marked the plans of run {source.id}; `nightshift annotate {source.id} "
            "--plans` opens the page on which people do"
        )
    return found, names


def _cards(ratings: "list[PlanRating]", judge: str | None, evidence: str) -> "list[PlanJudgeCard]":
    from datetime import UTC, datetime

    from quality.planning.judge_card import plan_judge_card, plan_judges_of
    from taskdata.version import code_version

    judges = plan_judges_of(ratings)
    if not judges:
        raise Misuse(
            "there are no marks of a judge; name the run with --run, or see docs/agreement.md for "
            "the columns"
        )
    if judge is not None and judge not in judges:
        raise Misuse(f"no judge {judge!r} there; there are: {', '.join(judges)}")
    now, version = datetime.now(UTC), code_version()
    wanted = judges if judge is None else [judge]
    return [plan_judge_card(ratings, one, evidence, version, now) for one in wanted]


def _write(card: "PlanJudgeCard", page: Path) -> None:
    from dashboards.pages.formats import plural

    people = plural(len(card.annotators), "annotator")
    console.table(
        [_measure(card, name, label) for name, label in _MEASURES.items()],
        title=f"Judge {card.judge}: {plural(card.plans, 'plan')}, {plural(card.cases, 'case')}, "
        f"{people}",
    )
    console.table(
        [row for name, mode in card.modes.items() for row in _groups(name, mode)],
        title="Plans that people call correct",
    )
    for name, mode in card.modes.items():
        console.table(
            [_bias(row) for row in mode.bias], title=f"Bias by agent, {name}: judge minus people"
        )
        if mode.self_preference is not None:
            own = mode.self_preference
            console.paragraph(
                f"Bias on plans of its own model minus that on others, {name}: correct "
                f"{_number(own.correct)}, grade {_number(own.grade)}"
            )
        if mode.unmarked:
            told = plural(mode.unmarked, "marked plan")
            console.say(f"{told} left out, {name}: the judge gave no verdict")
    console.paragraph(
        "A correct plan is the positive class. Error types: share of the six flags E1 to E6 that "
        "agree, over plans that people call incorrect. Intervals are 95 % and respect clustering "
        "by source task."
    )
    console.say(f"Card: {page}")


def _measure(card: "PlanJudgeCard", name: str, label: str) -> dict[str, str]:
    cells = {"": label}
    for title, mode in card.modes.items():
        cells[title] = _number(getattr(mode.whole, name))
        if mode.by_code and mode.asked.agreement.n:
            cells[f"{title}, judge asked"] = _number(getattr(mode.asked, name))
    if card.difference:
        cells["blind minus with reference"] = _number(card.difference[name])
    between = card.between_people
    if between is not None and name in type(between).model_fields:
        cells["people"] = _number(getattr(between, name))
    elif between is not None:
        cells["people"] = ""
    return cells


def _groups(name: str, mode: "PlanMode") -> Iterator[dict[str, str]]:
    for label, group in (
        ("the reference's chain", mode.standard),
        ("different from the reference", mode.different),
    ):
        yield {
            "": f"{label}, {name}",
            "n": str(group.agreement.n),
            "agreement": _number(group.agreement),
            "MAE of grade": _number(group.grade_mae),
        }


def _bias(row: "PlanBias") -> dict[str, str]:
    return {
        "agent": f"{row.agent} (the judge's own model)" if row.own else row.agent,
        "n": str(row.correct.n),
        "correct: people": _mean(row.people_correct),
        "judge": _mean(row.judge_correct),
        "bias": _number(row.correct),
        "grade: people": _mean(row.people_grade),
        "judge's": _mean(row.judge_grade),
        "its bias": _number(row.grade),
    }


def _mean(estimate: "Estimate") -> str:
    return "-" if estimate.mean is None else f"{estimate.mean:.2f}"


def _number(estimate: "Estimate") -> str:
    if estimate.mean is None:
        return "-"
    if estimate.ci95 is None:
        return f"{estimate.mean:.2f}"
    return f"{estimate.mean:.2f} ({estimate.ci95[0]:.2f} to {estimate.ci95[1]:.2f})"
