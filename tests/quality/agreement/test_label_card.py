"""Kappa, precision and recall of failure labels are those of known disagreements."""

from datetime import UTC, datetime

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from quality.agreement.label_card import label_card, labellers_of
from taskdata.errors import Misuse
from taskdata.schema.label_agreement import GivenLabels, LabelRating

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RULES = "rules@3"
STAGES = ("plan", "execute", "reason")


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr("quality.statistics.bootstrap.RESAMPLES", 49)


def rated(rater, number, tier="workflow", **labels):
    """A rater's labels of the trial of one task."""
    return LabelRating(
        task=f"t{number:02}",
        rater=rater,
        is_labeller=rater.startswith("rules"),
        tier=tier,
        labels=GivenLabels(**({"stage": "plan"} | labels)),
    )


def card(*ratings, labeller=RULES):
    return label_card(ratings, labeller, "test", "1", NOW)


def of(made, kind, name=None):
    (found,) = [label for label in made.labels if (label.kind, label.name) == (kind, name)]
    return found


def pair(made, kind, name=None, raters=(RULES, "ada")):
    (found,) = [p for p in of(made, kind, name).pairs if (p.first, p.second) == raters]
    return found


def study(trials=60, seed=5):
    """Two people and rules on the same trials; each errs on one stage in four."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(trials):
        truth = int(rng.integers(3))
        for rater in (RULES, "ada", "bob"):
            stage = truth if rng.random() < 0.75 else int(rng.integers(3))
            found.append(rated(rater, number, stage=STAGES[stage]))
    return found


def test_kappas_are_those_of_statsmodels_for_each_label_and_for_all_at_once():
    ratings = study()
    made = card(*ratings)
    assert (made.trials, made.tasks, made.annotators) == (60, 60, ("ada", "bob"))
    pairs = [(p.first, p.second) for p in of(made, "stage").pairs]
    assert pairs == [(RULES, "ada"), (RULES, "bob"), ("ada", "bob")]
    for raters in pairs:
        whole = _stage_table(ratings, *raters)
        for place, stage in enumerate(STAGES):
            both, first, second = whole[place, place], whole[place].sum(), whole[:, place].sum()
            counts = [[both, first - both], [second - both, 60 - first - second + both]]
            found = pair(made, "stage", stage, raters)
            assert found.kappa.mean == pytest.approx(cohens_kappa(counts).kappa)
            assert (found.by_first, found.by_second, found.by_both) == (first, second, both)
            assert found.prevalence == pytest.approx((first + second) / 120)
        at_once = pair(made, "stage", None, raters).kappa
        assert at_once.mean == pytest.approx(cohens_kappa(whole).kappa)
        assert at_once.n == 60
        assert at_once.ci95[0] < at_once.mean < at_once.ci95[1]


def _stage_table(ratings, first, second):
    by_rater = {
        rater: {r.task: STAGES.index(r.labels.stage) for r in ratings if r.rater == rater}
        for rater in (first, second)
    }
    counts = np.zeros((3, 3))
    for task, stage in by_rater[first].items():
        counts[stage, by_rater[second][task]] += 1
    return counts


def test_a_kappa_that_is_undefined_is_said_and_has_no_number():
    ratings = [
        rated(rater, number, long_run=("loop",)) for number in range(6) for rater in (RULES, "ada")
    ]
    made = card(*ratings)
    for kind, name, why in (
        ("long_run", "loop", "both always gave it"),
        ("stage", "execute", "neither ever gave it"),
        ("stage", None, "both always gave it"),
        ("arguments", "no_action", "no trial that both labelled can have it"),
    ):
        found = pair(made, kind, name)
        assert (found.kappa.mean, found.kappa.ci95, found.undefined) == (None, None, why)
    assert of(made, "long_run", "loop").detection.f1.mean == 1
    assert of(made, "long_run", "handed_back").detection.precision.mean is None


def test_one_rater_who_never_varies_agrees_by_chance_alone():
    ratings = [
        rated(rater, n, long_run=("loop",) if rater == "ada" and n < 3 else ())
        for n in range(6)
        for rater in (RULES, "ada")
    ]
    found = pair(card(*ratings), "long_run", "loop")
    assert (found.kappa.mean, found.undefined) == (0, None)


def test_agreement_without_any_error_has_no_interval_of_no_width():
    ratings = [
        rated(rater, n, tool_use=("no_verification",) if n % 2 else ())
        for n in range(8)
        for rater in (RULES, "ada")
    ]
    found = pair(card(*ratings), "tool_use", "no_verification").kappa
    assert (found.mean, found.ci95, found.n) == (1, None, 8)


def test_precision_and_recall_count_every_person_once_for_each_trial():
    """Rules give the label to trials 0 to 3; ada to 0 to 2, bob to 2 to 5."""
    gave = {RULES: range(4), "ada": range(3), "bob": range(2, 6)}
    ratings = [
        rated(rater, n, tool_use=("missing_parameter",) if n in own else ())
        for rater, own in gave.items()
        for n in range(8)
    ]
    found = of(card(*ratings), "tool_use", "missing_parameter").detection
    assert (found.precision.mean, found.precision.n) == (pytest.approx(5 / 8), 8)
    assert (found.recall.mean, found.recall.n) == (pytest.approx(5 / 7), 7)
    assert (found.f1.mean, found.f1.n) == (pytest.approx(2 * 5 / 15), 16)
    assert found.precision.ci95[0] < 5 / 8 < found.precision.ci95[1]


def test_lost_trials_count_for_infrastructure_alone_and_arguments_for_atomic_tasks():
    lost = {"stage": None, "infrastructure": "provider"}
    ratings = [
        rated(RULES, 0, **lost),
        rated("ada", 0, stage="execute"),
        rated(RULES, 1),
        rated("ada", 1, **lost),
        *(rated(rater, 2, tier="atomic", arguments=("no_action",)) for rater in (RULES, "ada")),
    ]
    made = card(*ratings)
    assert pair(made, "stage").kappa.n == 2
    assert pair(made, "arguments", "no_action").kappa.n == 1
    provider = pair(made, "infrastructure", "provider")
    assert (provider.kappa.n, provider.by_first, provider.by_second) == (3, 1, 1)
    assert pair(made, "stage", "execute").by_second == 0


def test_a_labeller_without_common_trials_has_no_card():
    ratings = [rated(RULES, 0), rated("ada", 1)]
    assert labellers_of(ratings) == [RULES]
    with pytest.raises(Misuse, match="no trial was labelled by a person and by rules@3"):
        card(*ratings)
