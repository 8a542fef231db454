"""Task folders are read whole or refused with file and field."""

import os

import pytest
import yaml

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


def test_a_task_folder_is_read_with_its_files_and_reference(folder):
    task, files = load_task(folder)
    assert task.id == "add-up"
    assert [f.path for f in task.files] == ["note.txt"]
    assert files[task.files[0].sha256].read_text() == "2 and 3"
    assert task.reference.steps[0].arguments == {"code": "print(2 + 3)"}


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


def test_links_among_the_input_files_are_refused(folder):
    os.symlink("/etc/passwd", folder / "files" / "passwd")
    with pytest.raises(BadTaskData, match="links"):
        load_task(folder)


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
