"""`nightshift bank prove` says what of a bank holds, and `doctor` what its tasks lack."""

import json
from pathlib import Path

import pytest
import typer

from environments.sandbox.providers import sandbox_provider
from flows.cli.bank.banks import import_
from flows.cli.bank.proving import prove
from flows.cli.doctor import doctor

POOL = Path(__file__).parents[3] / "pool"


@pytest.fixture
def club(home, capsys):
    """The small pool as a bank of this installation; returns its name."""
    import_("toolathlon", POOL, bank="club", category=None, licence="CC0-1.0", as_json=True)
    capsys.readouterr()
    return "club"


def test_a_bank_with_a_failed_task_ends_with_code_1_and_names_it(club, capsys):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)

    with pytest.raises(typer.Exit) as ended:
        prove(club, task=["toolathlon-minutes"], sandbox=None, as_json=True)

    assert ended.value.exit_code == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["tasks"], report["failed"], report["proven"]) == (1, 1, 0)
    assert report["reference"] == {"passed": 0, "tried": 1}
    assert report["nothing"] == {"passed": 0, "tried": 1}
    assert "missing: ['repairs']" in report["proofs"][0]["reasons"][0]


def test_cheats_and_faults_are_tried_and_the_mutation_score_is_said(home, capsys):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)

    prove("starter", task=["harvest-pie"], sandbox=None, as_json=True)
    report = json.loads(capsys.readouterr().out)
    (proof,) = report["proofs"]
    tried = sum(fault["tried"] for fault in proof["resistance"]["faults"])
    assert report["mutants"] == tried > 0
    assert 0 < report["mutation_score"] == proof["mutation_score"] <= 1
    assert report["noticed"] == round(tried * report["mutation_score"])
    assert report["paid_cheats"] == 0
    assert "candidates enumerated" in {c["name"] for c in proof["resistance"]["cheats"]}

    prove("starter", task=["harvest-pie"], sandbox=None)
    said = " ".join(capsys.readouterr().out.split())
    assert f"notice {report['noticed']} of {tried} faults in what requirements name" in said

    prove("starter", task=["harvest-pie"], sandbox=None, mutants=False, as_json=True)
    assert json.loads(capsys.readouterr().out)["proofs"][0]["resistance"] is None


def test_doctor_counts_the_tasks_that_lack_something(club, capsys):
    doctor(bank=club, as_json=True)
    report = json.loads(capsys.readouterr().out)["bank"]
    lacking = {entry["task"]: entry["missing"] for entry in report["tasks"]}
    assert len(lacking) == 6
    assert report["ready"] == sum(not needs for needs in lacking.values())
    assert ("server", "ledger") in {
        (need["kind"], need["name"]) for need in lacking["toolathlon-member-fees"]
    }

    doctor(bank=club, as_json=False)
    assert f"{report['ready']} of 6 tasks ready" in capsys.readouterr().out
