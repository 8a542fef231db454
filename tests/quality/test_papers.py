"""What the papers printed follows from what else they printed, by our formulas.

The numbers are in papers.json, each with its table. GTA-2's table 15 is not here: its gain does not
follow from the means that it prints (docs/metrics.md).
"""

import json
from pathlib import Path

import pytest
from scipy.stats import pearsonr

from quality.statistics.intervals import clustered_mean, clustered_share
from quality.statistics.passk import mean_pass_at_k

PAPERS = json.loads(Path(__file__).with_name("papers.json").read_text(encoding="utf-8"))
PRINTED = 0.051
"""Half of the last digit of a percentage with one decimal."""
OTHER_DENOMINATORS = {"Claude-Haiku-4.5", "GPT-5", "GPT-4o"}
"""Models of TOBench's table 2 whose cells are shares of other numbers of tasks than the rest's."""


def models(table):
    return PAPERS[table]["models"].items()


def spread(successes: int, tasks: int, repetitions: int, name: str) -> dict[str, list[bool]]:
    """Outcomes of tasks with so many successes among all their repetitions."""
    flat = [n < successes for n in range(tasks * repetitions)]
    return {f"{name}-{n}": flat[n::tasks] for n in range(tasks)}


@pytest.mark.parametrize(("model", "row"), models("toolathlon_table_3"))
def test_toolathlons_pass_at_1_follows_from_its_categories(model, row):
    tasks, outcomes = PAPERS["toolathlon_table_3"]["tasks"], {}
    for (name, count), share in zip(tasks.items(), row["categories"], strict=True):
        successes = round(share / 100 * 3 * count)
        assert 100 * successes / (3 * count) == pytest.approx(share, abs=PRINTED)
        outcomes |= spread(successes, count, 3, name)
    assert len(outcomes) == 108
    found = mean_pass_at_k(outcomes, 1)
    assert 100 * found.mean == pytest.approx(row["pass_at_1"], abs=PRINTED)


@pytest.mark.parametrize(("model", "row"), models("tobench_table_2"))
def test_tobenchs_average_follows_from_its_splits_for_all_but_three(model, row):
    *splits, average = row
    outcomes: list[bool] = []
    follows = True
    for share, tasks in zip(splits, PAPERS["tobench_table_2"]["tasks"], strict=True):
        successes = round(share / 100 * tasks)
        follows &= 100 * successes / tasks == pytest.approx(share, abs=0.0051)
        outcomes += [n < successes for n in range(tasks)]
    found = clustered_share(outcomes, [str(n) for n in range(len(outcomes))])
    follows &= found.n == 100 and 100 * found.mean == pytest.approx(average, abs=0.0051)
    assert follows is (model not in OTHER_DENOMINATORS)


@pytest.mark.parametrize(("model", "row"), models("apb_table_1"))
def test_apbs_holistic_results_are_means_over_cases_of_all_modalities(model, row):
    cases = PAPERS["apb_table_13"]["cases"]
    parts = PAPERS["apb_table_13"]["models"][model]
    for column, printed in enumerate(row["holistic"]):
        values = [parts[name][column] for name, count in cases.items() for _ in range(count)]
        mean = clustered_mean(values, [str(n) for n in range(len(values))]).mean
        # The parts are rounded, too: grades to two decimals, shares to one or two.
        tolerance = 0.0101 if column == 1 else 0.06
        assert mean == pytest.approx(printed, abs=tolerance), column


@pytest.mark.parametrize(("model", "row"), models("apb_table_1"))
def test_apbs_step_wise_results_are_means_over_the_three_horizons(model, row):
    parts = PAPERS["apb_table_14"]["models"][model]
    for column, printed in enumerate(row["step_wise"]):
        values = [part[column] for part in parts.values()]
        mean = clustered_mean(values, list(parts)).mean
        assert mean == pytest.approx(printed, abs=0.0051 if column == 1 else PRINTED), column


def test_apbs_deltas_of_extraneous_tools_and_of_refinement():
    for model, row in models("apb_table_2"):
        for base, changed, delta in (row[1:4], row[5:8]):
            assert changed - base == pytest.approx(delta, abs=0.101), model
    for row in PAPERS["apb_table_4"]["rows"]:
        for start in range(0, len(row), 3):
            base, refined, delta = row[start : start + 3]
            assert refined - base == pytest.approx(delta, abs=0.101), row


@pytest.mark.parametrize(
    ("column", "printed"), [(2, 0.978), (1, 0.898), (0, 0.869), (3, 0.664)], ids=str
)
def test_gtas_correlations_of_its_metrics_with_ansacc(column, printed):
    rows = list(PAPERS["gta_csv"]["models"].values())
    found = pearsonr([row[column] for row in rows], [row[4] for row in rows])
    assert found.statistic == pytest.approx(printed, abs=0.0005)
