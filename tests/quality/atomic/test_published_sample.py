"""The published scorer's own numbers, where a sample of them lies beside the repository.

With all-mpnet-base-v2 installed similarities are computed; without it only what needs none is
compared.
"""

import json
import shutil
from pathlib import Path

import pytest

from quality.atomic.predictions import end_to_end_score, step_counts
from quality.atomic.published import end_to_end_metrics, step_metrics
from quality.encoders.choosing import find_encoder
from quality.encoders.encoder import Similarity
from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.gta.predictions import MODES, PredictedTask, read_predictions

SAMPLE = Path(__file__).parents[4] / "shared" / "data" / "gta_atomic_parity_sample.json"
METRICS = {
    "end-to-end": (end_to_end_score, end_to_end_metrics),
    "step-by-step": (step_counts, step_metrics),
}
EXACT = ("tool_call", "tool_call_error")

pytestmark = pytest.mark.skipif(not SAMPLE.exists(), reason=f"{SAMPLE} is not here")


@pytest.fixture(scope="module")
def sample():
    return json.loads(SAMPLE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def similarity(tmp_path_factory):
    home = tmp_path_factory.mktemp("encoder")
    try:
        found = Similarity(find_encoder("all-mpnet-base-v2", home))
    except Misuse:
        return None
    finally:
        # The weights are in memory by now, and 438 MB are too much to leave behind.
        shutil.rmtree(home)
    return found


def metrics(mode, tasks, similarity):
    score, of = METRICS[mode]
    try:
        return of([score(task, similarity) for task in tasks]).model_dump()
    except BadTaskData as exc:
        return {"error": str(exc)}


def agree(found, expected, name):
    """Whether both are errors, or equal within the tolerance; how many numbers were compared."""
    assert ("error" in found) == ("error" in expected), (name, found)
    if "error" in expected:
        return 0
    assert found.keys() == expected.keys()
    compared = 0
    for metric, value in expected.items():
        if found[metric] is None:
            continue
        tolerance = 0 if metric in EXACT else 1e-5 if metric.startswith("total") else 1e-3
        assert found[metric] == pytest.approx(value, abs=tolerance), (name, metric)
        compared += 1
    return compared


@pytest.mark.parametrize("mode", MODES)
def test_every_subset_and_every_task_alone(sample, similarity, mode):
    tasks = read_predictions(SAMPLE, SAMPLE, mode).tasks
    sets = {n: (s["indexes"], s["expected"]) for n, s in sample["subsets"].items()}
    sets |= {f"task {key}": ([int(key)], e) for key, e in sample["per_task"].items()}
    compared = 0
    for name, (indexes, expected) in sets.items():
        found = metrics(mode, [tasks[index] for index in indexes], similarity)
        for variant in (MODES[mode], f"{MODES[mode]}_float64"):
            if variant in expected:
                compared += agree(found, expected[variant], (name, variant))
    assert compared > 100


def test_special_cases_in_the_nesting_of_the_scorer(sample, similarity):
    names = {theirs: ours for ours, theirs in MODES.items()}
    for case in sample["scorer_cases"]:
        rows = zip(case["predictions"], case["gold"], case["references"], strict=True)
        whole = case["mode"] == "every"
        tasks = [
            PredictedTask("0", *((said[0], gold[0]) if whole else (said, gold)), answer)
            for said, gold, answer in rows
        ]
        found = metrics(names[case["mode"]], tasks, similarity)
        agree(found, case["expected"], case["name"])


def test_similarities(sample, similarity):
    if similarity is None:
        pytest.skip("all-mpnet-base-v2 is not installed")
    for pair in sample["similarity_pairs"]:
        assert similarity(pair["a"], pair["b"]) == pytest.approx(pair["similarity"], abs=1e-5)
