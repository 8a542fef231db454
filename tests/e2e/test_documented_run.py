"""docs/task-bank.md, command after command: 25 requests become a released bank.

Its release plays every task of the starter bank too, which keeps its promises: solved by its own
solutions, worth nothing for nothing.
"""

import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows.gates import hold_gate
from taskdata.banks.loader import load_bank
from taskdata.store import Store, StoreAddress
from tests.e2e.conftest import shared_server
from tests.soak import at_length_only

pytestmark = [pytest.mark.e2e, pytest.mark.soak, at_length_only]
"""In `make test`, `tests/examples/test_documented_run.py` holds what becomes of the 25 requests,
`test_refresh.py` the commands over a few of them, `test_docs.py` the options that the page names,
and `test_starter_proof.py` what the starter bank promises."""

ROOT = Path(__file__).resolve().parents[2]
STORY = ROOT / "docs" / "task-bank.md"


def commands():
    for block in re.findall(r"```bash\n(.*?)```", STORY.read_text(), re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == "nightshift":
                yield words[1:]


@pytest.fixture(scope="module")
def documented(tmp_path_factory, command, documented_model):
    """The documented run; its home, and what each command said."""
    home = tmp_path_factory.mktemp("documented") / "home"
    said = {}
    with shared_server(home):
        for words in commands():
            # Whole nights have tests of their own; here the options must exist.
            extra = ["--help"] if words[0] == "run" else []
            done = command.run(home, *words, *extra, cwd=ROOT)
            assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
            said[" ".join(words[:2])] = done.stdout
    return SimpleNamespace(home=home, said=said)


@pytest.fixture(scope="module")
def proved(documented):
    """The store of the documented run, and the run that played exactly the starter bank."""
    home = documented.home
    store = Store(
        StoreAddress(
            database_url=f"sqlite:///{home}/nightshift.db", artifacts_url=f"file://{home}/artifacts"
        )
    )
    bank = {task.content_hash for task in load_bank("starter").tasks}
    (run_id,) = {trial.run_id for trial in store.proof_trials(bank)}
    assert {task.content_hash for task in store.tasks_of_run(run_id).values()} == bank
    yield store, run_id
    store.close()


def test_the_documented_run_gives_the_documented_numbers(documented, command):
    home = documented.home
    (refresh,) = command.read(home, "refreshes")["refreshes"]
    assert (refresh["status"], refresh["release"]) == ("released", "office@1")
    assert refresh["candidates"] == {"deleted": 1, "quarantined": 3, "rejected": 1, "released": 21}
    release = json.loads(command.run(home, "bank", "release", "--json").stdout)
    made = [task for task in release["lineage"] if task["origin"] != "base"]
    assert len(made) == 21
    assert sum(task["proof"] == "proven" for task in made) == 8
    assert {task["proof"] for task in release["lineage"] if task["origin"] == "base"} == {"proven"}
    assert "an unknown amount of money" in documented.said["refresh --dry-run"]


def test_every_starter_reference_earns_full_marks(proved):
    store, run_id = proved
    short = {
        r.trial.task_id: [leaf for leaf in r.score.leaves if leaf.score not in (None, 10)]
        for r in store.results(run_id)
        if r.trial.agent == "reference" and r.root_score != pytest.approx(10)
    }
    assert short == {}


def test_no_starter_task_pays_for_doing_nothing(proved):
    store, run_id = proved
    paid = {
        r.trial.task_id: r.root_score
        for r in store.results(run_id)
        if r.trial.agent == "nop" and (r.root_score is None or r.root_score > 1)
    }
    assert paid == {}
    assert {r.trial.agent for r in store.results(run_id)} == {"reference", "nop"}
    assert len(store.results(run_id)) == 2 * len(store.tasks_of_run(run_id))


def test_both_gates_hold_over_the_starter_bank(proved):
    store, run_id = proved
    for gate in ("tasks", "scores"):
        hold_gate(store, run_id, gate)
