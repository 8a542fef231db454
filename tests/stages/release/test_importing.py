"""An import is a release with its account, or it has left no trace."""

import hashlib
import json
import shutil
import sqlite3

import pytest

from stages.release.importing import import_bank
from taskdata.errors import BadTaskData, Misuse
from taskdata.formats.registry import writer
from taskdata.schema.outline import TaskFilter, outline
from taskdata.schema.task import Category, InputFile
from taskdata.store import Store


@pytest.fixture
def store(store_on_each):
    return store_on_each


@pytest.fixture
def exported(tmp_path, new_task):
    """Export tasks of these ids and one input file as JSON Lines; returns the folder."""
    content = tmp_path / "notes.txt"
    content.write_text("nine")

    def write(*ids: str, **changes: object):
        sha256 = hashlib.sha256(b"nine").hexdigest()
        file = InputFile(path="notes.txt", sha256=sha256, size_bytes=4)
        folder = tmp_path / "bank"
        shutil.rmtree(folder, ignore_errors=True)
        writer("jsonl")(
            [new_task(task_id, files=(file,), **changes) for task_id in ids],
            folder,
            lambda _, target: target.write_text("nine"),
            force=False,
        )
        return folder

    return write


def everything(store, tmp_path):
    """All rows of all tables, and all artifacts."""
    artifacts = sorted(p.name for p in (tmp_path / "artifacts").rglob("*") if p.is_file())
    with store._engine.connect() as connection:
        from sqlmodel import SQLModel

        rows = {
            table.name: connection.execute(table.select()).fetchall()
            for table in SQLModel.metadata.sorted_tables
        }
    return artifacts, rows


def test_an_import_is_a_release_with_notes_files_and_snapshot(store, exported):
    report = import_bank(store, "mine", "jsonl", exported("b", "a"))
    assert (report.imported, report.quarantined, report.duplicates, report.rows) == (2, 0, 0, 2)
    notes = store.find_release("mine")
    assert (notes.release_hash, notes.version) == (report.release, report.version)
    tasks = list(store.tasks_of_release(report.release).values())
    assert [task.id for task in tasks] == ["a", "b"]
    assert store.artifacts.read_bytes(tasks[0].files[0].sha256) == b"nine"
    snapshot = store.artifacts.read_bytes(notes.snapshot_sha256).decode().splitlines()
    assert snapshot == [task.canonical_json() for task in tasks]
    assert notes.statistics.tasks == 2
    assert {entry.origin for entry in notes.lineage} == {"import"}
    assert [(change.task_id, change.kind) for change in notes.changes] == [
        ("a", "added"),
        ("b", "added"),
    ]


def test_the_same_file_again_is_the_same_release(store, exported):
    first = import_bank(store, "mine", "jsonl", exported("a", "b"))
    again = import_bank(store, "mine", "jsonl", exported("b", "a"))
    assert (again.release, again.version) == (first.release, first.version)


def test_a_changed_file_is_the_next_version_and_says_what_changed(store, exported):
    import_bank(store, "mine", "jsonl", exported("a", "b"))
    folder = exported("b", "c", title="Another title")
    report = import_bank(store, "mine", "jsonl", folder)
    assert report.version == 2
    changes = store.find_release("mine").changes
    assert [(c.task_id, c.kind, c.fields) for c in changes] == [
        ("a", "removed", ()),
        ("b", "changed", ("title",)),
        ("c", "added", ()),
    ]


def test_a_task_id_counts_once(store, exported):
    folder = exported("a", "b")
    document = folder / "tasks.jsonl"
    document.write_text(document.read_text() + document.read_text())
    report = import_bank(store, "mine", "jsonl", folder)
    assert (report.imported, report.quarantined, report.duplicates) == (2, 2, 2)
    assert [(row.row, row.item, row.field) for row in store.quarantined()] == [
        (3, "a", "id"),
        (4, "b", "id"),
    ]
    assert "row 1" in report.reasons[0].reason


def test_bad_rows_are_quarantined_and_the_good_ones_imported(store, exported):
    folder = exported("a")
    document = folder / "tasks.jsonl"
    bad = json.loads(document.read_text()) | {"id": "b", "human_minutes": 0}
    document.write_text(f"nonsense\n{json.dumps(bad)}\n{document.read_text()}")
    report = import_bank(store, "mine", "jsonl", folder)
    assert (report.imported, report.quarantined) == (1, 2)
    rows = store.quarantined("tasks.jsonl")
    assert [(r.row, r.item, r.field) for r in rows] == [(1, None, None), (2, "b", "human_minutes")]
    assert report.reasons == tuple(rows)


def test_a_file_without_one_good_row_makes_no_release(store, exported):
    folder = exported("a")
    (folder / "tasks.jsonl").write_text("nonsense\n")
    report = import_bank(store, "mine", "jsonl", folder)
    assert (report.imported, report.release, report.version) == (0, None, None)
    assert store.find_release("mine") is None
    assert len(store.quarantined()) == 1


@pytest.mark.parametrize("ending", [b'{"id": "cut', b'{"id": "\xff"}\n'])
def test_a_file_that_is_cut_short_or_not_utf8_leaves_the_store_as_it_was(
    store, exported, tmp_path, ending
):
    import_bank(store, "before", "jsonl", exported("z"))
    before = everything(store, tmp_path)
    folder = exported("a", "b", title="Something else")
    with (folder / "tasks.jsonl").open("ab") as stream:
        stream.write(ending)
    with pytest.raises(BadTaskData, match=r"tasks\.jsonl"):
        import_bank(store, "mine", "jsonl", folder)
    assert everything(store, tmp_path) == before


def test_a_database_that_fails_leaves_no_artifact_behind(store, exported, tmp_path, monkeypatch):
    before = everything(store, tmp_path)

    def fail(*_):
        raise sqlite3.OperationalError("disk full")

    monkeypatch.setattr(Store, "write_release", fail)
    with pytest.raises(sqlite3.OperationalError):
        import_bank(store, "mine", "jsonl", exported("a"))
    assert everything(store, tmp_path) == before


def test_files_that_the_store_has_need_not_come_along(store, exported):
    import_bank(store, "mine", "jsonl", exported("a"))
    folder = exported("b")
    shutil.rmtree(folder / "files")
    assert import_bank(store, "mine", "jsonl", folder).imported == 1


@pytest.mark.parametrize("name", ["starter", "Not A Name", "a@1", ""])
def test_a_name_that_will_not_do_is_misuse(store, exported, name):
    with pytest.raises(Misuse, match="bank name"):
        import_bank(store, name, "jsonl", exported("a"))


def test_an_unknown_format_names_those_there_are(store, exported):
    with pytest.raises(Misuse, match="gta-workflow"):
        import_bank(store, "mine", "csv", exported("a"))


def test_outlines_are_written_with_the_tasks_and_filtered(store, exported, new_task):
    report = import_bank(store, "mine", "jsonl", exported("a", "b"))
    release = report.release
    (first, _second) = store.outlines(release)
    assert (first.id, first.leaves, first.depth, first.checkable_share) == ("a", 3, 2, 1.0)
    assert first.tools == ("python_execute", "write_file", "finish")
    assert (first.human_minutes, first.steps) == (20, None)
    assert store.outlines(release, TaskFilter(category=Category.RETRIEVAL_QA)) == []
    assert store.outlines(release, TaskFilter(tool="OCR")) == []
    assert len(store.outlines(release, TaskFilter(tool="finish", source="internal"))) == 2


def test_rows_of_an_earlier_revision_have_their_outlines_made(store, new_task):
    from sqlalchemy import text

    release = store.add_release("old", [new_task()], {})
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE task SET outline = NULL"))
    assert [o.id for o in store.outlines(release.hash)] == ["sum-two"]


def test_outlines_of_an_earlier_version_are_read_without_what_they_lack(store, new_task):
    from sqlalchemy import text

    task = new_task()
    release = store.add_release("old", [task], {})
    kept = outline(task, task.content_hash).model_dump(
        mode="json", exclude={"human_minutes", "steps"}
    )
    with store._engine.begin() as connection:
        connection.execute(text("UPDATE task SET outline = :kept"), {"kept": json.dumps(kept)})
    (read,) = store.outlines(release.hash)
    assert (read.leaves, read.human_minutes, read.steps) == (3, None, None)


def test_stored_banks_name_their_newest_version(store, exported):
    import_bank(store, "one", "jsonl", exported("a"))
    import_bank(store, "two", "jsonl", exported("a", "b"))
    import_bank(store, "one", "jsonl", exported("a", "b", "c"))
    found = {bank.name: (bank.version, bank.tasks) for bank in store.stored_banks()}
    assert found == {"one": (2, 3), "two": (1, 2)}
