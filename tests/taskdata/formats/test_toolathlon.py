"""A Toolathlon task folder is taken in whole: state, programs and ground truth."""

import json

import pytest

from taskdata.errors import Misuse
from taskdata.schema.checkpoint import ScriptCheck


@pytest.fixture
def pool(tmp_path):
    """A folder of two tasks; returns it."""
    for name in ("second-task", "first_task"):
        task = tmp_path / "pool" / name
        contents = {
            "task_config.json": json.dumps(
                {
                    "needed_mcp_servers": ["emails", "filesystem"],
                    "needed_local_tools": ["python_execute", "claim_done"],
                    "meta": {"level": 3},
                    "max_turns": 50,
                }
            ),
            "docs/task.md": "Answer the mail of the landlord and file the letter.",
            "docs/task_cn.md": "请回复房东的邮件。",
            "docs/agent_system_prompt.md": "You work in a folder.",
            "initial_workspace/letters/lease.txt": "lease",
            "groundtruth_workspace/answer.txt": "yes",
            "preprocess/main.py": "print('set up')",
            "evaluation/main.py": "print('score')",
            "evaluation/compare.py": "pass",
            "email_config.json": "{}",
            "evaluation/__pycache__/main.pyc": "x",
        }
        for path, text in contents.items():
            (task / path).parent.mkdir(parents=True, exist_ok=True)
            (task / path).write_text(text)
    return tmp_path / "pool"


def test_a_task_folder_becomes_a_task_with_its_environment(read, pool):
    result = read("toolathlon", pool)
    task, second = result.tasks
    assert second.id == "toolathlon-second-task"
    assert task.query == "Answer the mail of the landlord and file the letter."
    assert task.tools == ("python_execute", "claim_done")
    assert [f.path for f in task.files] == ["letters/lease.txt"]
    around = task.environment
    assert around.servers == ("emails", "filesystem")
    assert [f.path for f in around.preprocess] == ["email_config.json", "preprocess/main.py"]
    assert [f.path for f in around.evaluation] == ["evaluation/compare.py", "evaluation/main.py"]
    assert [f.path for f in around.groundtruth] == ["groundtruth_workspace/answer.txt"]
    (leaf,) = task.checkpoints.leaves()
    assert leaf.verifier == ScriptCheck(entry="evaluation/main.py")
    assert {f.sha256 for f in task.stored_files} <= set(result.items[0].files)


def test_the_rest_is_kept_or_reported(read, pool):
    result = read("toolathlon", pool)
    kept = result.tasks[0].extras["toolathlon"]
    assert kept["folder"] == "first_task"
    assert kept["meta"] == {"level": 3}
    assert kept["max_turns"] == 50
    assert kept["docs/task_cn.md"] == "请回复房东的邮件。"
    assert kept["docs/agent_system_prompt.md"] == "You work in a folder."
    assert result.source.ignored == {"__pycache__": 2}
    assert result.source.assumed["category"] == 2


def test_the_agent_is_told_nothing_of_what_scores_it(read, pool):
    task = read("toolathlon", pool).tasks[0]
    assert "groundtruth" not in task.brief().model_dump_json()
    assert "evaluation" not in task.brief().model_dump_json()


def test_one_folder_alone_is_a_bank_of_one(read, pool):
    (task,) = read("toolathlon", pool / "first_task").tasks
    assert task.id.startswith("toolathlon-first_task")


def test_a_broken_folder_costs_only_itself(read, pool, tmp_path):
    (pool / "first_task" / "evaluation" / "main.py").unlink()
    result = read("toolathlon", pool)
    assert len(result.tasks) == 1
    (row,) = result.refused
    assert (row.origin, row.row, row.item) == ("pool", 1, "first_task")
    assert row.field == "evaluation/main.py"


@pytest.mark.parametrize(
    ("path", "content", "field"),
    [
        ("task_config.json", "{", "task_config.json"),
        ("task_config.json", '{"needed_mcp_servers": "x"}', "task_config.json: needed_mcp_servers"),
        ("docs/task.md", b"\xff", "docs/task.md"),
        ("docs/task.md", "", "query"),
    ],
)
def test_what_cannot_be_read_is_named(read, pool, path, content, field):
    raw = content if isinstance(content, bytes) else content.encode()
    (pool / "first_task" / path).write_bytes(raw)
    (row,) = read("toolathlon", pool).refused
    assert row.field == field


def test_a_link_in_the_workspace_is_refused(read, pool, tmp_path):
    (pool / "first_task" / "initial_workspace" / "out").symlink_to("/etc/passwd")
    (row,) = read("toolathlon", pool).refused
    assert row.field == "initial_workspace/out"
    assert "link" in row.reason


def test_a_folder_without_tasks_is_misuse(read, tmp_path):
    with pytest.raises(Misuse, match="task folders"):
        read("toolathlon", tmp_path)
