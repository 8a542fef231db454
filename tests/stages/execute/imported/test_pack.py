"""GTA's eval packs: entries by task, answers from traces, files within the root alone."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stages.execute.imported.pack import read_pack
from taskdata.errors import BadTaskData
from taskdata.schema.task import Resources


@pytest.fixture
def gta_task(new_task):
    return new_task("gta-workflow-12", extras={"gta-workflow": {"key": "12"}})


@pytest.fixture
def read(results, gta_task, tmp_path):
    """Write a pack of these entries into the folder, and read the task's result."""

    def go(*entries, task=gta_task):
        pack = results / "manus_eval_pack.json"
        pack.write_text(json.dumps({"schema_version": 1, "tasks": list(entries)}))
        copies = tmp_path / "copies" / str(len(list(tmp_path.glob("copies/*"))))
        return read_pack(pack, results, task, copies)

    return go


def entry(task_id=12, **changes):
    fields = {
        "task_id": task_id,
        "sample_idx": 1,
        "origin_prompt": ["Please ..."],
        "assistant_outputs": [[{"role": "assistant", "content": "The sum is 5."}]],
        "attached_files": [],
        "full_tree": {},
        "meta": {"backend": "manus", "status": "completed"},
    }
    return fields | changes


def names(result):
    return [file.name for file in result.files.files]


def test_an_entry_is_found_by_the_tasks_key(read):
    found = read(entry(3), entry(12))
    assert found.final_answer == "The sum is 5."
    assert found.effort.seconds is None
    assert read(entry(3)) is None


def test_the_answer_is_the_last_text_of_the_first_trace(read):
    trace = [
        {"role": "assistant", "content": "I look."},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "It is 42."},
        {"role": "assistant", "tool_calls": [{}], "content": None},
    ]
    assert read(entry(assistant_outputs=[trace, [{"role": "assistant", "content": "no"}]]))
    assert read(entry(assistant_outputs=[trace])).final_answer == "It is 42."
    assert read(entry(assistant_outputs=trace)).final_answer == "It is 42."
    assert read(entry(assistant_outputs=[])).final_answer == ""


def test_files_keep_their_names_below_files(read, results):
    place = results / "agent_app_result" / "12" / "files"
    (place / "charts").mkdir(parents=True)
    (place / "report.txt").write_text("hello")
    (place / "charts" / "one.txt").write_text("chart")
    (results / "loose.txt").write_text("loose")
    found = read(
        entry(
            attached_files=[
                "agent_app_result/12/files/report.txt",
                str(place / "charts" / "one.txt"),
                "loose.txt",
            ]
        )
    )
    assert names(found) == ["charts/one.txt", "loose.txt", "report.txt"]
    assert found.files.rejected == ()


def test_no_path_leads_out_of_the_root(read, results, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (results / "link.txt").symlink_to(tmp_path / "secret.txt")
    (results / "folder").symlink_to(tmp_path)
    (results / "there").mkdir()
    paths = [
        "../secret.txt",
        "/etc/passwd",
        str(tmp_path / "secret.txt"),
        str(results / ".." / "secret.txt"),
        "link.txt",
        "folder/secret.txt",
        "there",
        "missing.txt",
        "x" * 5_000,
    ]
    found = read(entry(attached_files=paths))
    assert names(found) == []
    assert len(found.files.rejected) == len(paths)


PART = st.sampled_from(["..", ".", "", "files", "inside.txt", "secret.txt", "out", "etc", "~"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(paths=st.lists(st.lists(PART, max_size=5).map("/".join), max_size=6))
def test_whatever_paths_say_only_what_lies_inside_is_taken(read, results, tmp_path, paths):
    (tmp_path / "secret.txt").write_text("secret")
    (results / "files").mkdir(exist_ok=True)
    (results / "files" / "inside.txt").write_text("inside")
    if not (results / "out").is_symlink():
        (results / "out").symlink_to(tmp_path)
    found = read(entry(attached_files=paths))
    assert {file.path.read_text() for file in found.files.files} <= {"inside"}


def test_files_are_held_to_the_tasks_limits(read, results, gta_task):
    small = gta_task.model_copy(update={"resources": Resources(disk_mb=1, max_files=3)})
    for name, size in (("a", 700_000), ("b", 700_000), ("c", 10), ("d", 10)):
        (results / f"{name}.txt").write_bytes(b"x" * size)
    found = read(entry(attached_files=["a.txt", "b.txt", "c.txt", "d.txt"]), task=small)
    assert names(found) == ["a.txt", "c.txt"]
    assert "'b.txt' exceeds the space allowed" in found.files.rejected


def test_two_files_of_one_name_are_not_mixed_up(read, results):
    for folder in ("x", "y"):
        (results / folder).mkdir()
        (results / folder / "report.txt").write_text(folder)
    found = read(entry(attached_files=["x/report.txt", "y/report.txt"]))
    assert names(found) == ["report.txt"]
    assert found.files.files[0].path.read_text() == "x"
    assert "has the name of another" in found.files.rejected[0]


def test_an_archive_that_unpacks_to_too_much_is_refused(read, results, new_zip):
    (results / "report.docx").write_bytes(new_zip(big=bytes(40 << 20)))
    (results / "fine.docx").write_bytes(new_zip(small=b"hello"))
    found = read(entry(attached_files=["report.docx", "fine.docx"]))
    assert names(found) == ["fine.docx"]
    assert "times its size" in found.files.rejected[0]


@pytest.mark.parametrize(
    ("meta", "seconds"),
    [
        ({"call_elapsed_sec": 61.2, "elapsed_sec": 60}, 61.2),
        ({"elapsed_sec": 60}, 60),
        ({"seconds": 5, "elapsed_sec": 60}, 5),
        ({"elapsed_sec": None}, None),
        (None, None),
    ],
)
def test_the_time_is_the_most_exact_that_is_stated(read, meta, seconds):
    assert read(entry(meta=meta)).effort.seconds == seconds


def test_cost_and_turns_are_taken_where_they_are_stated(read):
    effort = read(entry(meta={"cost_usd": 1.5, "turns": 9, "model": "sonnet"})).effort
    assert (effort.cost_usd, effort.turns, effort.model) == (1.5, 9, "sonnet")


@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        (["no entry"], r"tasks\.0\.task_id"),
        ([{"task_id": True}], r"tasks\.0\.task_id"),
        ([entry(), entry("12")], "stands in the pack twice"),
        ([entry(assistant_outputs="5")], "task 12: assistant_outputs"),
        ([entry(attached_files=[3])], "task 12: attached_files"),
        ([entry(meta={"cost_usd": "free"})], "task 12: meta"),
    ],
)
def test_a_pack_that_does_not_fit_is_refused_where(read, entries, fault):
    with pytest.raises(BadTaskData, match=fault):
        read(*entries)


@pytest.mark.parametrize("text", ["[]", "{}", '{"tasks": {}}', "{", '"x"'])
def test_what_is_no_pack_is_refused(results, gta_task, tmp_path, text):
    pack = results / "pack.json"
    pack.write_text(text)
    with pytest.raises(BadTaskData, match=r"pack\.json"):
        read_pack(pack, results, gta_task, tmp_path / "copies")
