"""A folder per task: what is taken from it, what stays outside, what is unknown."""

import json
import os
import socket

import pytest

from stages.execute.imported.folder import read_folder
from taskdata.errors import BadTaskData
from taskdata.schema.task import Resources
from taskdata.schema.usage import Usage


@pytest.fixture
def read(results, task, tmp_path):
    """Read the result of the task, or of another."""
    return lambda wanted=task: read_folder(results, wanted, tmp_path / "copies")


def names(result):
    return [file.name for file in result.files.files]


def test_answer_files_and_effort_are_taken(read, put, task):
    meta = {"seconds": 61.5, "cost_usd": 0.4, "turns": 7, "model": "manus-1.5"}
    put(task.id, " The sum is 5.\n", meta, out=b'{"sum": 5}')
    found = read()
    assert found.final_answer == "The sum is 5."
    assert names(found) == ["out.json"]
    assert found.files.files[0].path.read_bytes() == b'{"sum": 5}'
    assert found.effort.seconds == 61.5
    assert vars(found.effort.counts) == {
        "usage": None,
        "cost_usd": 0.4,
        "turns": 7,
        "tool_calls": None,
        "tool_errors": None,
        "model_id": "manus-1.5",
    }


def test_what_nobody_stated_is_unknown_not_0(read, put, task):
    put(task.id)
    effort = read().effort
    assert effort.seconds is None
    assert set(vars(effort.counts).values()) == {None}


def test_tokens_are_taken_when_both_are_there(read, put, task):
    put(task.id, meta={"input_tokens": 900, "output_tokens": 0})
    assert read().effort.counts.usage == Usage(input_tokens=900)


def test_a_task_without_a_folder_has_no_result(read, put):
    put("another-task")
    assert read() is None


def test_an_empty_folder_is_no_result_but_files_alone_are_one(read, put, task):
    place = put(task.id, answer=None)
    assert read() is None
    (place / "files").mkdir()
    (place / "files" / "out.json").write_bytes(b"{}")
    assert read().final_answer == ""
    assert names(read()) == ["out.json"]


def test_an_imported_task_is_found_by_its_key_in_the_data_set(read, put, new_task):
    put("12")
    imported = new_task("gta-workflow-12", extras={"gta-workflow": {"key": "12"}})
    assert read(imported).final_answer == "5"


@pytest.mark.parametrize("key", ["..", ".", "", "../secrets", "/etc", "a\0b"])
def test_a_key_that_is_no_folder_name_leads_nowhere(read, results, new_task, key):
    secrets = results.parent / "secrets"
    secrets.mkdir()
    (secrets / "final.txt").write_text("outside")
    (results.parent / "final.txt").write_text("outside")
    (results / "final.txt").write_text("beside the folders")
    assert read(new_task(extras={"gta-workflow": {"key": key}})) is None


@pytest.mark.parametrize("name", ["final.txt", "meta.json", "files"])
def test_links_are_not_followed(read, put, task, tmp_path, name):
    place = put(task.id, answer=None if name == "final.txt" else "5")
    outside = tmp_path / "outside"
    if name == "files":
        outside.mkdir()
        (outside / "secret.txt").write_text("secret")
        (place / name).symlink_to(outside)
        assert names(read()) == []
        assert read().files.rejected
    else:
        outside.write_text('{"turns": 3}')
        (place / name).symlink_to(outside)
        with pytest.raises(BadTaskData, match="cannot be read"):
            read()


def test_a_task_folder_that_is_a_link_is_refused(read, put, results, task):
    put("elsewhere")
    (results / task.id).symlink_to(results / "elsewhere")
    with pytest.raises(BadTaskData, match="symbolic link"):
        read()


def test_files_that_no_agent_could_deliver_stay_outside_with_reasons(read, put, task, tmp_path):
    files = put(task.id, out=b"{}") / "files"
    (tmp_path / "secret").write_text("secret")
    (files / "link.txt").symlink_to(tmp_path / "secret")
    os.link(tmp_path / "secret", files / "hard.txt")
    os.mkfifo(files / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(files / "socket"))
        found = read()
    assert names(found) == ["out.json"]
    reasons = "\n".join(found.files.rejected)
    for reason in ("'link.txt' is a symbolic link", "'hard.txt' is a hard link", "is a FIFO"):
        assert reason in reasons


def test_files_are_held_to_the_tasks_limits(read, put, new_task):
    small = new_task(resources=Resources(disk_mb=1, max_files=1))
    put(small.id, a=b"x" * (2 << 20), b=b"y", c=b"z")
    found = read(small)
    assert names(found) == ["b.json"]
    assert len(found.files.rejected) == 2


def test_an_archive_that_unpacks_to_too_much_is_refused_whatever_it_is_called(
    read, put, new_zip, task
):
    bomb = new_zip(big=bytes(40 << 20))
    put(task.id, report=bomb, fine=new_zip(small=b"hello"))
    found = read()
    assert names(found) == ["fine.json"]
    assert "report.json" in found.files.rejected[0]
    assert "times its size" in found.files.rejected[0]


@pytest.mark.parametrize(
    ("meta", "fault"),
    [
        ("{", "not JSON"),
        ('{"turns": NaN}', "finite"),
        ("[" * 5_000, "deep"),
        ('{"turns": "7"}', "turns"),
        ('{"turns": -1}', "turns"),
        ('{"second": 3}', "second"),
        ('{"turns": true}', "turns"),
        ('{"input_tokens": 3}', "both or neither"),
        ('{"tool_calls": 1, "tool_errors": 2}', "more than tool_calls"),
        (json.dumps({"model": "x" * 70_000}), "larger than"),
    ],
)
def test_a_meta_file_that_does_not_fit_is_refused_by_name(read, put, task, meta, fault):
    put(task.id, meta=meta)
    with pytest.raises(BadTaskData, match=fault) as caught:
        read()
    assert "meta.json" in str(caught.value)


def test_an_answer_that_is_no_text_is_still_an_answer(read, put, task):
    place = put(task.id)
    (place / "final.txt").write_bytes(b"five \xff\x00!")
    assert read().final_answer == "five \ufffd\ufffd!"


def test_an_answer_as_large_as_a_file_is_refused(read, put, task):
    put(task.id, "5" * ((1 << 20) + 1))
    with pytest.raises(BadTaskData, match=r"final\.txt: larger than 1024 KiB"):
        read()
