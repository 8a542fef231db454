"""Proof of tasks in Harbor's format: the solution passes, the initial workspace does not."""

import shutil
import subprocess
from pathlib import Path

import pytest

from environments.sandbox.docker.provider import Docker
from stages.construct.proof.bank import prove_bank
from stages.prepare.needs import task_needs
from stages.release.importing import import_bank
from taskdata.banks.found import find_bank
from taskdata.schema.tool_backends import ToolBackends

POOL = Path(__file__).parents[3] / "harbor"


@pytest.fixture
def proven(store, tmp_path):
    """Return a function that proves tasks of a pool, by name."""

    def run(*names: str, pool: Path = POOL, sandbox: str = "docker"):
        import_bank(store, "harbor", "harbor", pool)
        tasks = list(find_bank(store, "harbor").tasks([f"harbor-{name}" for name in names]))
        found = prove_bank(store, tasks, {}, sandbox, home=tmp_path)
        return {p.task_id.removeprefix("harbor-"): p for p in found.values()}

    if reason := Docker().unavailable():
        pytest.skip(reason)
    return run


@pytest.fixture
def pool(tmp_path):
    """A copy of the small pool that a test may break."""
    return Path(shutil.copytree(POOL, tmp_path / "pool"))


@pytest.fixture
def depot(store):
    """The task whose image is built, with its image."""
    if reason := Docker().unavailable():
        pytest.skip(reason)
    import_bank(store, "harbor", "harbor", POOL)
    (task,) = find_bank(store, "harbor", ["harbor-depot"]).tasks(["harbor-depot"])
    yield task
    subprocess.run(["docker", "rmi", "--force", task.image.name], check=False, capture_output=True)


@pytest.mark.docker
def test_a_solution_passes_and_the_beginning_does_not(proven):
    proofs = proven("tide-table", "count-script")
    for proof in proofs.values():
        assert proof.verdict == "proven", proof.reasons
        assert (proof.reference_score, proof.nop_score) == (10, 0)
        assert (proof.reasons, proof.weaknesses) == ((), ())


@pytest.mark.docker
def test_an_image_is_missing_by_name_until_its_command_has_built_it(proven, depot, store, tmp_path):
    def missing() -> dict[str, str]:
        read = store.artifacts.read_bytes
        needs = task_needs(depot, read, tmp_path, "docker", ToolBackends())
        return {need.kind: need.state for need in needs if not need.is_met}

    assert missing() == {
        "image": "the Docker engine does not have it: "
        f"run `docker build --tag {depot.image.name} depot/environment`, "
        "in the folder that was imported"
    }
    (before,) = proven("depot").values()
    assert before.verdict is None
    assert f"run `{depot.image.way}`" in before.reasons[0]

    subprocess.run(["docker", "build", "-q", *depot.image.way.split()[2:]], cwd=POOL, check=True)

    assert missing() == {}
    (proof,) = proven("depot").values()
    assert (proof.verdict, proof.nop_score) == ("proven", 0), proof.reasons


@pytest.mark.docker
def test_a_verifier_that_cannot_say_anything_is_no_fault_of_the_task(proven, pool):
    for name, program in (
        ("tide-table", "fetch-the-tests && echo 1 > /logs/verifier/reward.txt"),
        ("count-script", "echo 2 > /logs/verifier/reward.txt"),
    ):
        (pool / name / "tests" / "test.sh").write_text(program)
    proofs = proven("tide-table", "count-script", pool=pool)
    assert {proof.verdict for proof in proofs.values()} == {"unproven"}
    assert "it needs fetch-the-tests" in proofs["tide-table"].reasons[0]
    assert "has no number from 0 to 1" in proofs["count-script"].reasons[0]


@pytest.mark.docker
def test_a_verifier_that_lacks_what_it_can_do_without_is_believed_once_the_solution_passes(
    proven, pool
):
    program = pool / "tide-table" / "tests" / "test.sh"
    program.write_text(program.read_text().replace("python3", "curl-it -O x\npython3"))
    (proof,) = proven("tide-table", pool=pool).values()
    assert (proof.verdict, proof.reference_score, proof.nop_score) == ("proven", 10, 0)


@pytest.mark.docker
def test_a_sandbox_without_images_says_what_the_task_needs(proven):
    (proof,) = proven("tide-table", sandbox="bubblewrap").values()
    assert proof.verdict is None
    assert "needs sandbox 'docker'" in proof.reasons[0]
