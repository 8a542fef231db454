import json

import pytest

from flows.config import load_settings
from taskdata.schema.diagnosis import Diagnosis, Evidence, FailureLevels, Label, ModelLabelling
from taskdata.store import Store

AGENT = "react:local/smollm2-135m"


@pytest.fixture
def diagnosed(stored_run) -> str:
    """A run of three trials: one failed in a loop, one succeeded, one was lost.

    Returns the first one's id.
    """
    failed, succeeded, _ = stored_run({AGENT: (2.0, 9.0, "ValueError: lost")})[AGENT]
    loop = Label(
        taxonomy="long_run", name="loop", confidence=1, evidence=(Evidence(says="3 times", turn=4),)
    )
    store = Store.open(load_settings().address)
    for trial, stage, labels in ((failed, "undetermined", (loop,)), (succeeded, None, ())):
        levels = FailureLevels(leaf=stage is not None, composition=False, deliverable=False)
        store.record_diagnosis(
            Diagnosis(
                trial_id=trial,
                stage=stage,
                type=None if stage is None else "not_attempted",
                levels=levels,
                evidence=(),
                labels=labels,
                labeller="rules@3",
            )
        )
    store.close()
    return failed


def test_programs_get_every_label_in_percent_with_its_n(command, diagnosed):
    (agent,) = json.loads(command("results", "--failures", "--json").stdout)["agents"]
    assert (agent["trials"], agent["scored"], agent["failed"], agent["lost"]) == (3, 2, 1, 1)
    assert agent["labels"]["long_run"] == {"loop": {"n": 1, "of": 1, "percent": 100.0}}
    assert agent["labels"]["stage"]["undetermined"]["n"] == 1
    assert agent["labels"]["infrastructure"] == {"our_bug": {"n": 1, "of": 3, "percent": 33.33}}
    assert set(agent["requirements"]) == {"A", "B", "C"}


def test_causes_come_first_each_with_its_size_and_its_trials(command, diagnosed):
    found = json.loads(command("results", "--failures", "--json").stdout)
    lost, failed = sorted(found["clusters"], key=lambda cluster: cluster["stage"])
    assert lost["title"] == "Lost outside the agent: ValueError: lost"
    assert (failed["trials"], failed["agents"], failed["trial_ids"]) == (1, [AGENT], [diagnosed])
    assert failed["first_seen"] == found["run"]
    shown = command("results", "--failures").stdout
    assert f"1 trial: {failed['title']}" in " ".join(shown.split())
    assert shown.index(diagnosed) < shown.index("First attempts by agent")


def test_labels_are_counted_by_what_is_asked_for_and_all_of_it_is_in_json(command, diagnosed):
    groups = json.loads(command("results", "--failures", "--json").stdout)["groups"]
    assert [g["group"] for g in groups["model"]] == ["local/smollm2-135m"]
    assert sum(g["failed"] for g in groups["leaves"]) == 1
    shown = command("results", "--failures", "--by", "harness").stdout
    assert "First attempts by harness" in shown
    assert "react " in shown
    wrong = command("results", "--failures", "--by", "weather")
    assert wrong.returncode == 2
    assert "deliverable-type" in wrong.stderr
    assert command("results", "--by", "harness").returncode == 2


def test_people_get_tables_of_what_occurs(command, diagnosed):
    shown = command("results", "--failures").stdout
    assert "our bug" in shown
    assert "1 of 3" in shown
    assert "33.33 %" in shown
    assert "hallucinated" not in shown


def test_it_stands_alone(command, diagnosed):
    done = command("results", "--failures", "--wide")
    assert done.returncode == 2
    assert "leave out --wide" in done.stderr


def test_a_trial_shows_its_labels_with_where_the_evidence_stands(command, diagnosed):
    shown = command("show", diagnosed).stdout
    assert "Failure labels" in shown
    assert "turn 4: 3 times" in shown
    told = "Failed at an undetermined stage; most points were lost in what was not delivered"
    assert told in " ".join(shown.split())
    assert json.loads(command("show", diagnosed, "--json").stdout)["diagnosis"]["labels"]


def test_labels_of_a_model_are_told_from_those_of_rules(command, diagnosed):
    store = Store.open(load_settings().address)
    run = store.latest_run()
    (found,) = [r.diagnosis for r in store.results(run.id) if r.trial.id == diagnosed]
    seen = (Evidence(says="I forgot", turn=2),)
    label = Label(
        taxonomy="long_run", name="lost_context", confidence=0.5, evidence=seen, by="openai/m"
    )
    changes = {
        "labels": (*found.labels, label),
        "labeller": "rules@3+openai/m@1",
        "by_model": ModelLabelling(model="m"),
    }
    store.record_diagnosis(found.model_copy(update=changes))
    store.close()
    shown = command("results", "--failures").stdout
    assert "Labels given by rules and by a model" in shown
    assert "by model" in shown
    (agent,) = json.loads(command("results", "--failures", "--json").stdout)["agents"]
    assert agent["given_by"]["model"] == {"n": 1, "of": 3, "percent": 33.33}
    assert "openai/m" in command("show", diagnosed).stdout


def test_another_stage_takes_no_labeller_and_a_labeller_must_be_there(command, diagnosed):
    done = command("stage", "score", "--labeller", "openai/m")
    assert (done.returncode, "--labeller is of stage diagnose" in done.stderr) == (2, True)
    done = command("stage", "diagnose", "--labeller", "nobody/m")
    assert done.returncode == 2
    store = Store.open(load_settings().address)
    assert store.latest_run().config.labeller is None
    store.close()
