"""Task folders in Harbor's format become tasks with an image; refused ones are named."""

import shutil
from pathlib import Path

import pytest

from taskdata.errors import Misuse
from taskdata.schema.task import Category

POOL = Path(__file__).parents[2] / "harbor"


@pytest.fixture
def pool(tmp_path):
    """A copy of the small pool that a test may break."""
    return Path(shutil.copytree(POOL, tmp_path / "pool"))


def by_name(result):
    return {task.id.removeprefix("harbor-"): task for task in result.tasks}


def test_a_folder_of_tasks_and_one_task_are_found(read):
    tasks = by_name(read("harbor", POOL))
    assert set(tasks) == {"tide-table", "count-script", "depot"}
    (alone,) = read("harbor", POOL / "tide-table").tasks
    assert alone.content_hash == tasks["tide-table"].content_hash
    with pytest.raises(Misuse, match="each with task"):
        read("harbor", POOL / "depot" / "tests")


def test_a_task_brings_its_verifier_its_solution_and_limits(read):
    task = by_name(read("harbor", POOL, licence="CC0-1.0"))["tide-table"]
    assert task.query == (POOL / "tide-table" / "instruction.md").read_text()
    assert (task.title, task.category) == (
        "Name the station with the highest tide",
        Category.DATA_ANALYSIS,
    )
    assert (task.human_minutes, task.provenance.license) == (2, "CC0-1.0")
    (leaf,) = task.checkpoints.leaves()
    assert (leaf.verifier.entry, leaf.verifier.seconds) == ("tests/test.sh", 20)
    assert (task.resources.memory_mb, task.resources.disk_mb) == (512, 256)
    assert task.resources.network == ()
    around = task.environment
    assert [f.path for f in around.evaluation] == ["tests/check.py", "tests/test.sh"]
    assert [f.path for f in around.groundtruth] == ["solution/solve.sh"]
    assert task.extras["harbor"]["metadata"]["tags"] == ["csv"]
    assert task.is_decided_by_program
    brief = task.brief().model_dump_json()
    assert "Old Lock" not in brief
    assert "output/, where" not in brief
    assert "/workspace/output, is the folder /app" in brief


def test_files_that_are_only_copied_are_the_workspace_and_nothing_is_built(read):
    tasks = by_name(read("harbor", POOL))
    image = tasks["tide-table"].image
    assert (image.name, image.workdir, image.context) == ("nightshift-sandbox", "/app", "")
    assert [f.path for f in tasks["tide-table"].files] == ["tides.csv"]
    assert [f.path for f in tasks["count-script"].files] == ["logs/monday.txt", "logs/tuesday.txt"]
    assert tasks["count-script"].image.workdir == "/data"


def test_an_image_that_has_to_be_built_is_named_by_its_content_with_the_command(read, pool):
    image = by_name(read("harbor", pool))["depot"].image
    assert image.way == f"docker build --tag {image.name} depot/environment"
    (pool / "depot" / "environment" / "more.txt").write_text("more")
    changed = by_name(read("harbor", pool))["depot"].image
    assert changed.name != image.name
    assert changed.name.partition(":")[0] == "harbor-depot"


def test_a_prebuilt_image_is_pulled(read, pool):
    config = pool / "depot" / "task.toml"
    config.write_text(config.read_text() + 'docker_image = "registry.example.org/depot:1"\n')
    image = by_name(read("harbor", pool))["depot"].image
    assert image.way == "docker pull registry.example.org/depot:1"
    assert image.workdir == "/srv/depot"


@pytest.mark.parametrize(
    ("said", "field", "reason"),
    [
        ("version = '2.0'", "task.toml: version", "not version 1"),
        ("[environment]\ngpus = 1", "task.toml: environment.gpus", "GPU"),
        ("[environment]\ntype = 'cloud'", "task.toml: environment.type", "one container"),
        ("[environment.env]\nKEY = '${KEY}'", "task.toml: environment.env", "not passed on"),
        ("[verifier]\ntimeout_sec = -1", "verifier.timeout_sec", "greater than 0"),
        ("[verifier]\ntimeout_sec = inf", "task.toml: verifier.timeout_sec", "finite"),
        ("[[steps]]\nname = 'one'", "task.toml: steps", "not several steps"),
        ("[environment]\nmemory = 'much'", "environment.memory", "pattern"),
        ("x." * 40 + "x = 1", "task.toml", "nested deeper"),
        ("[environment", "task.toml", "not TOML"),
        ("[environment]\ndocker_image = '--privileged'", "name", "pattern"),
    ],
)
def test_what_a_task_here_cannot_have_is_refused_by_name(read, pool, said, field, reason):
    (pool / "depot" / "task.toml").write_text(said)
    result = read("harbor", pool)
    (row,) = result.refused
    assert (row.item, row.field) == ("depot", field)
    assert reason in row.reason
    assert len(result.tasks) == 2


@pytest.mark.parametrize(
    ("workdir", "named"),
    [("/", "/"), ("/usr/bin", "/usr/bin"), ("/app/../etc", "/app/../etc"), ("/workspace/x", "x")],
)
def test_a_working_folder_that_others_need_is_refused(read, pool, workdir, named):
    (pool / "depot" / "environment" / "Dockerfile").write_text(f"FROM x\nWORKDIR {workdir}\n")
    (row,) = read("harbor", pool).refused
    assert (row.item, row.field) == ("depot", "workdir")
    assert named in row.excerpt


def test_several_containers_are_refused_and_a_setting_of_the_one_is_not(read, pool):
    compose = pool / "depot" / "environment" / "docker-compose.yaml"
    compose.write_text("services:\n  main:\n    network_mode: none\n")
    assert read("harbor", pool).refused == []
    compose.write_text("services:\n  main: {}\n  database: {}\n")
    (row,) = read("harbor", pool).refused
    assert (row.field, row.reason) == (
        "environment/docker-compose.yaml",
        "a task here is one container",
    )


def test_links_and_paths_out_of_a_task_are_refused_and_cost_no_other(read, pool):
    (pool / "linked").symlink_to(pool / "depot")
    (pool / "depot" / "tests" / "passwd").symlink_to("/etc/passwd")
    (pool / "tide-table" / "environment" / "Dockerfile").write_text(
        "FROM x\nWORKDIR /app\nCOPY ../solution /app/\n"
    )
    (pool / "count-script" / "environment" / "Dockerfile").write_text(
        "FROM x\nWORKDIR /app\nCOPY missing.txt .\n"
    )
    result = read("harbor", pool)
    assert {(row.item, row.field) for row in result.refused} == {
        ("linked", None),
        ("depot", "tests/passwd"),
        ("count-script", "environment/Dockerfile"),
    }
    # The build itself has to report this file, which is not in the build's folder.
    (task,) = result.tasks
    assert (task.files, task.image.context) == ((), "tide-table/environment")


def test_a_task_without_a_verifier_or_instruction_is_refused(read, pool):
    (pool / "depot" / "tests" / "test.sh").unlink()
    (pool / "tide-table" / "instruction.md").write_bytes(b"\xff")
    (pool / "count-script" / "instruction.md").write_text(" \n")
    assert {(row.item, row.field) for row in read("harbor", pool).refused} == {
        ("depot", "tests/test.sh"),
        ("tide-table", "instruction.md"),
        ("count-script", "instruction.md"),
    }
