"""A labeller's card: how far failure labels of rules, of models and of people agree."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from quality.agreement.label_marks import (
    COLUMNS,
    Marks,
    Study,
    Trial,
    any_of,
    asked_at_once,
    columns_of,
    f1s,
    kappa_of_kind,
    kappas,
    study_of,
)
from quality.statistics.bootstrap import Chosen, bootstrapped, drawn_rows, rows_by_task
from quality.statistics.intervals import clustered_share
from taskdata.errors import Misuse
from taskdata.schema.estimate import Estimate
from taskdata.schema.label_agreement import (
    ALL_LABELS,
    Detection,
    LabelAgreement,
    LabelCard,
    LabelPair,
    LabelRating,
)

_Key = tuple[str, str | None]
"""Kind and name; None: all labels of the kind."""


def labellers_of(ratings: Iterable[LabelRating]) -> list[str]:
    """Return the labellers that gave labels, by name."""
    return sorted({rating.rater for rating in ratings if rating.is_labeller})


def label_card(
    ratings: Sequence[LabelRating],
    labeller: str,
    evidence: str,
    code_version: str,
    made_at: datetime,
) -> LabelCard:
    """Return the card of `labeller`, from its labels and those of people and other labellers.

    Raises:
        Misuse: if no trial was labelled by a person and by the labeller.
    """
    study = study_of(ratings)
    own = study.given.get(labeller, {}).keys()
    both = {trial for person in study.people for trial in study.given[person] if trial in own}
    if not both:
        raise Misuse(f"no trial was labelled by a person and by {labeller}")
    by_label: dict[_Key, list[LabelPair]] = {}
    for first, second in combinations(study.raters, 2):
        for key, pair in _pairs(study, first, second):
            by_label.setdefault(key, []).append(pair)
    found = _detections(study, labeller)
    return LabelCard(
        labeller=labeller,
        made_at=made_at,
        code_version=code_version,
        evidence=evidence,
        tasks=len({trial[0] for trial in both}),
        trials=len(both),
        annotators=tuple(person for person in study.people if study.given[person].keys() & own),
        labels=tuple(
            LabelAgreement(
                kind=kind, name=name, pairs=tuple(pairs), detection=found.get((kind, name))
            )
            for (kind, name), pairs in by_label.items()
        ),
    )


def _pairs(study: Study, first: str, second: str) -> Iterable[tuple[_Key, LabelPair]]:
    """Yield the agreement of two raters on each kind at once and on each label."""
    trials = study.common(first, second)
    if not trials:
        return
    for kind, names in ALL_LABELS.items():
        asked = [trial for trial in trials if study.counts_for(kind, trial)]
        columns = columns_of(kind)
        one, other = (study.marks(rater, asked)[:, columns] for rater in (first, second))
        at_once = asked_at_once(kind)
        estimates = _kappas(asked, one, other, at_once)
        if at_once:
            mine, theirs = any_of(one), any_of(other)
            both = mine & np.asarray((one == other).all(axis=1))
            yield (kind, None), _pair(first, second, mine, theirs, both, estimates[-1])
        for place, name in enumerate(names):
            mine, theirs = one[:, place], other[:, place]
            pair = _pair(first, second, mine, theirs, mine & theirs, estimates[place])
            yield (kind, name), pair


def _kappas(trials: Sequence[Trial], one: Marks, other: Marks, at_once: bool) -> list[Estimate]:
    """Return the kappa of each label, and then that of all of them at once if there is one."""
    groups = rows_by_task([trial[0] for trial in trials])

    def told(chosen: Chosen) -> list[float]:
        rows = drawn_rows(groups, chosen)
        mine, theirs = one[rows], other[rows]
        whole = [kappa_of_kind(mine, theirs)] if at_once else []
        return [*kappas(mine, theirs), *whole]

    counts = [len(trials)] * (one.shape[1] + at_once)
    return [_varying(estimate) for estimate in bootstrapped(told, len(groups), counts)]


def _pair(
    first: str,
    second: str,
    mine: NDArray[np.bool_],
    theirs: NDArray[np.bool_],
    both: NDArray[np.bool_],
    estimate: Estimate,
) -> LabelPair:
    return LabelPair(
        first=first,
        second=second,
        by_first=int(mine.sum()),
        by_second=int(theirs.sum()),
        by_both=int(both.sum()),
        prevalence=float((mine.mean() + theirs.mean()) / 2) if len(mine) else None,
        kappa=estimate,
        undefined=_undefined(mine, estimate),
    )


def _undefined(mine: NDArray[np.bool_], estimate: Estimate) -> str | None:
    if estimate.mean is not None:
        return None
    if not len(mine):
        return "no trial that both labelled can have it"
    if mine.all():
        return "both always gave it"
    return "neither ever gave it"


def _detections(study: Study, labeller: str) -> dict[_Key, Detection]:
    """Return precision, recall and F1 of each label against all people, each with a vote."""
    votes = [(person, trial) for person in study.people for trial in study.common(labeller, person)]
    found: dict[_Key, Detection] = {}
    for kind in ALL_LABELS:
        asked = [(person, trial) for person, trial in votes if study.counts_for(kind, trial)]
        columns = columns_of(kind)
        given = study.marks(labeller, [trial for _, trial in asked])[:, columns]
        detected = _detected(
            given, _votes(study, asked)[:, columns], [trial[0] for _, trial in asked]
        )
        found |= {COLUMNS[column]: one for column, one in zip(columns, detected, strict=True)}
    return found


def _detected(given: Marks, true: Marks, tasks: Sequence[str]) -> list[Detection]:
    groups = rows_by_task(tasks)

    def told(chosen: Chosen) -> list[float]:
        rows = drawn_rows(groups, chosen)
        return list(f1s(given[rows], true[rows]))

    scores = bootstrapped(told, len(groups), [len(tasks)] * given.shape[1])
    return [
        Detection(
            precision=_share(true[:, place], given[:, place], tasks),
            recall=_share(given[:, place], true[:, place], tasks),
            f1=_varying(score),
        )
        for place, score in enumerate(scores)
    ]


def _votes(study: Study, asked: Sequence[tuple[str, Trial]]) -> Marks:
    rows = [study.marks(person, [trial]) for person, trial in asked]
    return np.concatenate(rows) if rows else np.zeros((0, len(COLUMNS)), dtype=bool)


def _share(having: NDArray[np.bool_], among: NDArray[np.bool_], tasks: Sequence[str]) -> Estimate:
    """Return the share of a condition among some rows, with its interval."""
    rows = np.flatnonzero(among).tolist()
    return clustered_share([bool(having[i]) for i in rows], [tasks[i] for i in rows])


def _varying(estimate: Estimate) -> Estimate:
    """Return the estimate; an interval of width 0, from equal draws, is left out."""
    ci95 = estimate.ci95
    is_flat = ci95 is not None and ci95[1] - ci95[0] < 1e-12
    return estimate.model_copy(update={"ci95": None}) if is_flat else estimate
