from collections.abc import Callable

import pytest

from quality.gates import hold, quarantine_reasons
from quality.suites.files import FileRules, file_rows, files_suite
from taskdata.schema.gate import GateResult
from taskdata.schema.task import InputFile, Task, TaskEnvironment

CSV = b"region,sold\nnorth,12\n"
MakeTask = Callable[..., Task]


def file(path: str, sha256: str = "a" * 64, size_bytes: int = 12) -> InputFile:
    return InputFile(path=path, sha256=sha256, size_bytes=size_bytes)


def gate(*tasks: Task) -> GateResult:
    return hold(files_suite(), file_rows(tasks, {"a" * 64: CSV}), "r1")[0]


def test_files_that_are_there_and_what_they_say_pass(make_task: MakeTask):
    result = gate(make_task(), make_task("other", files=(file("a.csv"), file("b/a.csv"))))

    assert result.success
    assert result.rows == 3
    assert result.failures == ()


BROKEN: list[tuple[tuple[InputFile, ...], str]] = [
    ((file("lost.csv", "b" * 64),), "the artifact store holds every file"),
    ((file("sales.csv", size_bytes=0),), "no file is empty (found: 0)"),
    ((file("sales.csv", size_bytes=2 << 20),), "a file has at most 1 MiB (found: 2097152)"),
    (
        (file("Sales.csv"), file("sales.csv")),
        "the paths of a task's files are distinct, whatever their case",
    ),
    ((file("a.csv").model_copy(update={"path": "../a.csv"}),), "a file stays inside its folder"),
    ((file("a.csv").model_copy(update={"path": "/etc/a.csv"}),), "a file stays inside its"),
    ((file("page.pdf"),), "the bytes of a file are of the type that its name says"),
]


def test_a_task_leaves_with_a_broken_file(make_task: MakeTask):
    tasks = [make_task()]
    for number, (files, _says) in enumerate(BROKEN):
        unchecked = {"id": f"broken-{number}", "files": (*files, file("fine.csv"))}
        tasks.append(make_task().model_copy(update=unchecked))
    rows = file_rows(tasks, {"a" * 64: CSV})

    result, validation = hold(files_suite(FileRules(max_bytes=1 << 20)), rows, "r1")

    assert result.success
    assert set(result.quarantined) == {task.id for task in tasks[1:]}
    reasons = quarantine_reasons(validation)
    for number, (_files, says) in enumerate(BROKEN):
        assert {reason.startswith(says) for reason in reasons[f"broken-{number}"]} == {True}


def test_files_hidden_from_the_agent_are_looked_at_too(make_task: MakeTask):
    hidden = TaskEnvironment(evaluation=(file("main.py", "c" * 64),))

    result = gate(make_task(), make_task("hiding", environment=hidden))

    assert result.quarantined == ("hiding",)


def test_tasks_without_files_pass(make_task: MakeTask):
    assert gate(make_task(files=())).success


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.pdf", b"\n%PDF-1.7\n"),
        ("a.PNG", b"\x89PNG\r\n\x1a\n\0\0"),
        ("a.jpg", b"\xff\xd8\xff\xe0"),
        ("a.wav", b"RIFF\x24\x08\0\0WAVEfmt "),
        ("a.docx", b"PK\x03\x04\x14\0"),
        ("a.mp4", b"\0\0\0\x18ftypmp42"),
        ("a.csv", CSV),
        ("a.txt", "Grüße".encode("utf-16")),
        ("a.txt", "Grüße".encode("latin-1")),
        ("a.unheard", b"\0\1\2"),
        ("LICENSE", b"anything"),
    ],
)
def test_bytes_of_the_type_that_the_name_says_pass(make_task: MakeTask, name: str, head: bytes):
    rows = file_rows([make_task(files=(file(name),))], {"a" * 64: head})

    assert hold(files_suite(), rows, "r1")[0].failures == ()


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.pdf", b"<html>"),
        ("a.png", b"\xff\xd8\xff\xe0"),
        ("a.wav", b"RIFF\x24\x08\0\0AVI LIST"),
        ("a.xlsx", b"region,sold"),
        ("a.csv", b"PK\x03\x04\x14\0\0"),
        ("a.txt", b"\x7fELF\x02\x01\0"),
    ],
)
def test_bytes_of_another_type_are_named(make_task: MakeTask, name: str, head: bytes):
    rows = file_rows([make_task(files=(file(name),))], {"a" * 64: head})

    failure, *_ = hold(files_suite(), rows, "r1")[0].failures
    assert failure.rule == "unlike_its_name"
    assert failure.expectation.endswith(f"(found: files/{name})")
