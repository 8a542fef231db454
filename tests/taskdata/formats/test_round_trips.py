"""What was exported comes back as it was, from every format that can be written."""

import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.registry import FORMATS, reader, writer
from taskdata.formats.rows import ImportedTask, Source
from taskdata.schema.task import (
    InputFile,
    ObjectiveAnswer,
)
from tests.taskdata.formats.any_task import tasks

WRITTEN = [format.name for format in FORMATS.values() if format.write]


def there_and_back(format, bank, contents, folder):
    writer(format)(bank, folder, lambda sha, at: at.write_bytes(contents[sha]), force=False)
    read = list(reader(format)(Source(format, folder)))
    for item in read:
        assert isinstance(item, ImportedTask), item
        for file in item.task.stored_files:
            assert item.files[file.sha256].read_bytes() == contents[file.sha256]
    return [item.task for item in read]


@given(made=tasks())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_task_comes_back_from_every_format_as_it_was(made):
    task, contents = made
    for format in WRITTEN:
        with tempfile.TemporaryDirectory() as folder:
            (back,) = there_and_back(format, [task], contents, Path(folder, "out"))
        assert back == task
        assert back.content_hash == task.content_hash


@pytest.mark.parametrize("format", WRITTEN)
def test_what_came_from_another_format_keeps_its_extras(
    format, read, workflow_folder, item, tmp_path
):
    folder = workflow_folder(item(difficulty="hard", notes={"by": ["A", None]}))
    (task,) = read("gta-workflow", folder).tasks
    (again,) = there_and_back(format, [task], {}, tmp_path / "out")
    assert again.content_hash == task.content_hash
    assert again.extras["gta-workflow"]["notes"] == {"by": ["A", None]}


def test_an_edit_of_the_published_part_counts(new_task, tmp_path, read):
    writer("gta-workflow")([new_task()], tmp_path / "out", lambda *_: None, force=False)
    path = tmp_path / "out" / "end.json"
    document = json.loads(path.read_text())
    document["0"]["dialogs"][0]["content"] = "Please divide instead."
    document["0"]["sub_tasks"][0]["weight"] = 7
    document["0"]["reviewed_by"] = "Ada"
    path.write_text(json.dumps(document))
    (task,) = read("gta-workflow", path).tasks
    assert task.query == "Please divide instead."
    assert task.checkpoints.children[0].weight == 7
    assert task.checkpoints.children[0].verifier == new_task().checkpoints.children[0].verifier
    assert task.extras == {"gta-workflow": {"reviewed_by": "Ada"}}


def test_samples_have_what_inspect_reads(new_task, tmp_path):
    answer = ObjectiveAnswer(whitelist=(("five", "5"),))
    writer("inspect")([new_task(answer=answer)], tmp_path / "s.jsonl", lambda *_: None, force=False)
    sample = json.loads((tmp_path / "s.jsonl").read_text())
    assert sample["input"] == new_task().query
    assert sample["target"] == ["five", "5"]
    assert sample["id"] == "sum-two"
    assert sample["metadata"]["category"] == "data_analysis"


def test_a_table_can_be_filtered_without_reading_json(new_task, tmp_path):
    from pyarrow import parquet

    bank = [new_task("one"), new_task("two", category="retrieval_qa")]
    writer("parquet")(bank, tmp_path / "t.parquet", lambda *_: None, force=False)
    rows = parquet.read_table(
        tmp_path / "t.parquet", filters=[("category", "==", "retrieval_qa")]
    ).to_pylist()
    assert [row["id"] for row in rows] == ["two"]
    assert rows[0]["hash"] == bank[1].content_hash
    assert rows[0]["leaves"] == 3


@pytest.mark.parametrize("format", WRITTEN)
def test_a_file_that_changed_on_the_way_is_refused(format, tmp_path, new_task, read):
    content = b"a,b\n"
    file = InputFile(path="t.csv", sha256=hashlib.sha256(content).hexdigest(), size_bytes=4)
    bank = [new_task(files=(file,))]
    writer(format)(bank, tmp_path / "out", lambda _, at: at.write_bytes(content), force=False)
    (stored,) = [
        p for p in (tmp_path / "out").rglob("*") if p.is_file() and p.suffix in ("", ".csv")
    ]
    stored.write_bytes(b"b,a\n")
    (row,) = read(format, tmp_path / "out").refused
    assert "has changed" in row.reason
    stored.unlink()
    (row,) = read(format, tmp_path / "out").refused
    assert "is not there" in row.reason


def test_what_is_no_table_of_ours_is_refused_as_a_whole(read, tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 not at all PAR1")
    with pytest.raises(BadTaskData, match="not a Parquet file"):
        read("parquet", path)
    parquet.write_table(pa.table({"id": ["a"]}), path)
    with pytest.raises(BadTaskData, match="column 'capabilities' is missing"):
        read("parquet", path)


def test_a_cell_that_holds_no_json_costs_its_row(read, new_task, tmp_path):
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    writer("parquet")([new_task("one"), new_task("two")], path, lambda *_: None, force=False)
    table = parquet.read_table(path).to_pylist()
    table[0]["checkpoints"] = "{"
    parquet.write_table(parquet.read_table(path).from_pylist(table), path)
    result = read("parquet", path)
    assert [task.id for task in result.tasks] == ["two"]
    assert [(row.row, row.item, row.field) for row in result.refused] == [(1, "one", "checkpoints")]


def test_what_was_edited_beside_the_whole_task_is_told(new_task, tmp_path, read):
    path = tmp_path / "samples.jsonl"
    writer("inspect")([new_task()], path, lambda *_: None, force=False)
    assert not read("inspect", path).source.ignored
    sample = json.loads(path.read_text())
    edits = {"target": "another", "files": {"a.txt": "/etc/passwd"}, "sandbox": "docker"}
    sample["metadata"]["title"] = "Another"
    path.write_text(json.dumps(sample | edits | {"input": "Please divide instead."}))
    result = read("inspect", path)
    assert [task.query for task in result.tasks] == ["Please divide instead."]
    assert set(result.source.ignored) == {"target", "files", "sandbox", "metadata.title"}


def test_text_that_no_database_takes_costs_its_row(read, new_task, tmp_path):
    path = tmp_path / "t.parquet"
    bank = [new_task("one", query="Please add up\0 these."), new_task("two")]
    writer("parquet")(bank, path, lambda *_: None, force=False)
    result = read("parquet", path)
    assert [task.id for task in result.tasks] == ["two"]
    assert [(row.item, row.field) for row in result.refused] == [("one", "query")]


def test_a_tree_whose_ids_repeat_is_refused_by_the_name_of_the_tree(read, new_task, tmp_path):
    whole = new_task().model_dump(mode="json")
    whole["checkpoints"]["children"][0]["id"] = whole["checkpoints"]["id"]
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(whole) + "\n")
    (row,) = read("jsonl", path).refused
    assert (row.field, row.reason) == ("checkpoints", "checkpoint ids repeat: ['root']")


def test_a_sample_of_somebody_else_is_refused(read, tmp_path):
    path = tmp_path / "samples.jsonl"
    path.write_text('{"input": "How many?", "target": "5"}\n')
    (row,) = read("inspect", path).refused
    assert row.field == "metadata.task"


@pytest.mark.parametrize("format", WRITTEN)
def test_an_export_takes_the_place_of_nothing_unasked(format, new_task, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    with pytest.raises(Misuse, match="--force"):
        writer(format)([new_task()], out, lambda *_: None, force=False)
    assert [p.name for p in out.iterdir()] == ["mine.txt"]
    writer(format)([new_task()], out, lambda *_: None, force=True)
    assert (out / "mine.txt").read_text() == "keep"


def test_an_export_that_fails_leaves_no_half_document(new_task, tmp_path):
    def broken():
        yield new_task()
        raise BadTaskData("the store is gone")

    with pytest.raises(BadTaskData):
        writer("jsonl")(broken(), tmp_path / "out", lambda *_: None, force=False)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("weight", "children", "reason"),
    [(0, 2, "add up to 0"), (1, 1_001, "more than 1000 nodes"), (-1, 2, "greater than or equal")],
)
def test_an_unsound_tree_costs_its_row(read, new_task, tmp_path, weight, children, reason):
    whole = new_task().model_dump(mode="json")
    leaf = whole["checkpoints"]["children"][0]
    whole["checkpoints"]["children"] = [
        leaf | {"id": f"leaf-{n}", "weight": weight} for n in range(children)
    ]
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(whole) + "\n" + new_task("good").canonical_json() + "\n")
    result = read("jsonl", path)
    assert [task.id for task in result.tasks] == ["good"]
    assert reason in result.refused[0].reason
    assert result.refused[0].field.startswith("checkpoints")


def test_a_row_without_a_licence_is_never_given_one(new_task, tmp_path, read):
    bare = json.loads(new_task().canonical_json())
    del bare["provenance"]
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(bare) + "\n")

    found = read("jsonl", path)
    named = read("jsonl", path, licence="MIT")

    assert [task.provenance.license for task in found.tasks] == ["unknown"]
    assert found.source.assumed == {"licence": 1}
    assert [task.provenance.license for task in named.tasks] == ["MIT"]
