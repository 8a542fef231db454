"""Task folders are read whole or refused with file and field."""

import os
import time
import tracemalloc

import pytest
import yaml

from taskdata.banks import loader
from taskdata.banks.loader import load_bank, load_task
from taskdata.errors import BadTaskData, Misuse

SPEC = {
    "tier": "atomic",
    "category": "retrieval_qa",
    "capabilities": ["logic"],
    "title": "Add",
    "query": "What is the total of the two numbers in the note?",
    "tools": ["Calculator", "finish"],
    "checkpoints": {
        "id": "answer",
        "requirement": "The answer is five.",
        "verifier": {"kind": "check", "name": "answer_number", "args": {"expected": 5}},
    },
}


@pytest.fixture
def folder(tmp_path):
    task = tmp_path / "my bank" / "add-up"
    (task / "files").mkdir(parents=True)
    (task / "files" / "note.txt").write_text("2 and 3")
    (task / "reference").mkdir()
    (task / "reference" / "solve.py").write_text("print(2 + 3)")
    solution = {
        "steps": [{"tool": "python_execute", "arguments": {"code": {"from_file": "solve.py"}}}],
        "final_answer": "5",
    }
    (task / "reference" / "solution.yaml").write_text(yaml.safe_dump(solution))
    (task / "task.yaml").write_text(yaml.safe_dump(SPEC))
    return task


def rewrite(folder, **changes):
    (folder / "task.yaml").write_text(yaml.safe_dump(SPEC | changes))


def test_the_documents_of_a_tasks_search_are_no_input_files(folder):
    before = load_task(folder)[0]
    (folder / "search").mkdir()
    (folder / "search" / "pages.md").write_text("# Page\n\nFive.")
    task, files = load_task(folder)

    (page,) = task.environment.search
    assert page.path == "search/pages.md"
    assert files[page.sha256].read_text() == "# Page\n\nFive."
    assert page in task.stored_files
    assert task.brief().files == before.brief().files == ("note.txt",)
    assert "search" not in before.model_dump_json()


def test_a_task_folder_is_read_with_its_files_and_reference(folder):
    task, files = load_task(folder)
    assert task.id == "add-up"
    assert [f.path for f in task.files] == ["note.txt"]
    assert files[task.files[0].sha256].read_text() == "2 and 3"
    assert task.reference.steps[0].arguments == {"code": "print(2 + 3)"}


def test_what_only_verifiers_see_comes_from_folders_of_its_own(folder):
    for name in ("evaluation/main.py", "evaluation/data/a.csv", "groundtruth/total.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    task, files = load_task(folder)
    assert [f.path for f in task.environment.evaluation] == [
        "evaluation/data/a.csv",
        "evaluation/main.py",
    ]
    assert [f.path for f in task.environment.groundtruth] == ["groundtruth/total.txt"]
    assert {files[f.sha256].name for f in task.stored_files} >= {"main.py", "total.txt"}
    rewrite(folder, environment={"evaluation": []})
    with pytest.raises(BadTaskData, match=r"environment\.evaluation' comes from evaluation/"):
        load_task(folder)


MAIL = {"name": "post", "kind": "mail", "accounts": [{"address": "ann@example.org"}]}
DATABASE = {"name": "shop", "kind": "postgresql"}


def test_what_services_start_from_is_read_from_their_folders(folder):
    (folder / "services" / "shop").mkdir(parents=True)
    (folder / "services" / "shop" / "dump.sql").write_text("SELECT 1;")
    (folder / "services" / "post" / "ann@example.org" / "INBOX").mkdir(parents=True)
    (folder / "services" / "post" / "ann@example.org" / "INBOX" / "1.eml").write_text("Subject: x")
    rewrite(folder, environment={"services": [DATABASE, MAIL]})

    task, files = load_task(folder)

    shop, post = task.services
    assert [f.path for f in (*shop.files, *post.files)] == [
        "dump.sql",
        "ann@example.org/INBOX/1.eml",
    ]
    assert all(file.sha256 in files for file in task.stored_files)
    assert [service.name for service in task.brief().services] == ["shop", "post"]


@pytest.mark.parametrize(
    ("services", "left", "reason"),
    [
        ([DATABASE], "other/x.sql", "other: task.yaml has no service 'other'"),
        ([DATABASE | {"files": []}], "shop/x.sql", "the field 'files' comes from services/shop/"),
        ([MAIL], "post/eve@x.org/INBOX/1.eml", "is not <address>/<mailbox>/<file>.eml"),
        ([DATABASE | {"kind": "redis"}], "shop/x.sql", "field environment.services.0"),
        ([DATABASE, "post"], "shop/x.sql", "field environment.services.1"),
    ],
)
def test_services_that_do_not_fit_their_folders_are_refused(folder, services, left, reason):
    file = folder / "services" / left
    file.parent.mkdir(parents=True)
    file.write_text("x")
    rewrite(folder, environment={"services": services})

    with pytest.raises(BadTaskData, match=reason):
        load_task(folder)


def test_the_content_hash_follows_the_bytes_of_the_files(folder):
    before = load_task(folder)[0].content_hash
    (folder / "files" / "note.txt").write_text("2 and 4")
    assert load_task(folder)[0].content_hash != before


def test_the_brief_holds_neither_checkpoint_nor_reference(folder):
    task, _files = load_task(folder)
    brief = task.brief().model_dump_json()
    assert "five" not in brief
    assert "print(2 + 3)" not in brief


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category": "sports"}, "category"),
        ({"checkpoints": {"id": "x", "requirement": "r"}}, "either a verifier"),
        ({"surprise": 1}, "surprise"),
        ({"id": "other"}, "comes from the folder"),
        ({"query": ""}, "query"),
        (
            {"checkpoints": SPEC["checkpoints"] | {"weight": float("nan")}},
            r"checkpoints\.weight",
        ),
    ],
)
def test_a_malformed_task_names_file_and_field(folder, changes, message):
    rewrite(folder, **changes)
    with pytest.raises(BadTaskData, match=message) as caught:
        load_task(folder)
    assert "task.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a: [", "\t- x", "just words", "&a [*a]"])
def test_broken_yaml_is_bad_task_data(folder, text):
    (folder / "task.yaml").write_text(text)
    with pytest.raises(BadTaskData, match=r"task\.yaml"):
        load_task(folder)


def test_bytes_that_are_not_utf8_are_bad_task_data(folder):
    (folder / "task.yaml").write_bytes(b"title: \xff")
    with pytest.raises(BadTaskData, match="UTF-8"):
        load_task(folder)


@pytest.mark.parametrize(
    "place",
    [
        "add-up/files/passwd",
        "add-up/files",
        "add-up/reference",
        "add-up/reference/solve.py",
        "add-up/reference/solution.yaml",
        "add-up/services",
        "add-up/task.yaml",
        "add-up/notes/deep/er",
        "add-up",
        "another",
        "",
    ],
)
def test_a_link_anywhere_in_a_bank_is_refused_and_named(folder, tmp_path, place):
    link = folder.parent / place
    link.parent.mkdir(parents=True, exist_ok=True)
    elsewhere = tmp_path / "elsewhere"
    if link.exists():
        link.rename(elsewhere)
    else:
        elsewhere.mkdir()
    os.symlink(elsewhere, link)

    with pytest.raises(BadTaskData, match="not links or devices") as caught:
        load_bank(str(folder.parent))
    assert str(caught.value).startswith(f"{link}: ")


def test_a_file_whose_name_has_two_lines_is_refused_in_one(folder):
    (folder / "files" / "a\nb.txt").write_text("x")

    with pytest.raises(BadTaskData, match="no line break") as caught:
        load_task(folder)
    assert str(caught.value).isprintable()


def test_a_device_or_fifo_in_a_bank_is_refused_without_being_opened(folder):
    (folder / "task.yaml").unlink()
    os.mkfifo(folder / "task.yaml")

    with pytest.raises(BadTaskData, match=r"task\.yaml: a bank holds plain files"):
        load_task(folder)


def laughs(levels):
    """Nine copies of nine copies of ...: a few hundred bytes, billions of values."""
    lines = ["l0: &l0 [ha, ha, ha]"]
    lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["task.yaml", "reference/solution.yaml"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (laughs(12), "line 1: an anchor or alias is not allowed"),
        ("title: x\nquery: &q what\n", "line 2: an anchor or alias is not allowed"),
        ("a: &a {b: 1}\nc: {<<: *a}", "line 1: an anchor or alias is not allowed"),
        ("a: " + "[" * 100_000 + "]" * 100_000, "line 1: nesting deeper than 64"),
        ("a: " + "9" * 500_000, "line 1: a number of more than 100 characters"),
        ("a: 1" + ":1" * 250_000, "line 1: a number of more than 100 characters"),
        ("a: 2026-13-45", "month must be in 1..12"),
    ],
)
def test_yaml_that_unfolds_to_more_than_it_is_is_refused(folder, name, text, reason):
    (folder / name).write_text(text)

    tracemalloc.start()
    began = time.monotonic()
    with pytest.raises(BadTaskData, match=reason) as caught:
        load_task(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert str(caught.value).startswith(f"{folder / name}: ")
    assert peak < 64 << 20
    assert time.monotonic() - began < 20


def test_from_file_cannot_leave_the_reference_folder(folder):
    solution = {
        "steps": [{"tool": "python_execute", "arguments": {"code": {"from_file": "../task.yaml"}}}],
        "final_answer": "",
    }
    (folder / "reference" / "solution.yaml").write_text(yaml.safe_dump(solution))
    with pytest.raises(BadTaskData, match="from_file"):
        load_task(folder)


def test_a_bank_can_be_any_folder_and_unknown_names_say_what_there_is(folder):
    bank = load_bank(str(folder.parent), only=["add-up"])
    assert [task.id for task in bank.tasks] == ["add-up"]
    with pytest.raises(Misuse, match="no-such"):
        load_bank(str(folder.parent), only=["no-such"])
    with pytest.raises(Misuse, match="bundled"):
        load_bank("no-such-bank")


def test_a_bundled_task_is_read_once_unless_one_of_its_files_changes(folder, monkeypatch):
    monkeypatch.setattr(loader, "_BUNDLED", folder.parent.parent)
    (first,), (again,) = (load_bank("my bank").tasks for _ in range(2))
    assert again is first
    (folder / "files" / "note.txt").write_text("2 and 3 and 4")
    (changed,) = load_bank("my bank").tasks
    assert changed.content_hash != first.content_hash
    (folder / "files" / "link").symlink_to("/etc/hostname")
    with pytest.raises(BadTaskData, match="link"):
        load_bank("my bank")
