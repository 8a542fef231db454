import os

import pytest

from stages.intake.inbox import take_in
from stages.intake.rows import Defaults

GOOD = '{"text": "sum the figures", "source": "internal", "attachments": ["files/a.csv"]}\n'


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "inbox"
    (folder / "files").mkdir(parents=True)
    (folder / "files" / "a.csv").write_text("1\n")
    return folder


def test_a_file_moves_on_once_the_store_has_it(store, inbox):
    (inbox / "week.jsonl").write_text(GOOD + "bad\n")
    report = take_in(store, inbox, Defaults())
    assert report.files["inbox/week.jsonl"].quarantined == 1
    assert store.seeds()[0].origin == "inbox/week.jsonl"
    assert (inbox / "done" / "week.jsonl").read_text() == GOOD + "bad\n"
    assert not (inbox / "week.jsonl").exists()
    assert take_in(store, inbox, Defaults()).files == {}


def test_a_file_that_cannot_be_read_is_quarantined_with_its_reason_and_read_once(store, inbox):
    (inbox / "broken.yaml").write_text('- text: "cut o')
    (inbox / "gone.csv").symlink_to(inbox / "nowhere.csv")
    (inbox / "good.jsonl").write_text(GOOD)
    report = take_in(store, inbox, Defaults())
    assert set(report.errors) == {"inbox/broken.yaml", "inbox/gone.csv"}
    assert list(report.files) == ["inbox/good.jsonl"]
    kept = inbox / "quarantined"
    assert (kept / "broken.yaml").read_text() == '- text: "cut o'
    assert "not YAML" in (kept / "broken.yaml.reason.txt").read_text()
    assert "No such file" in (kept / "gone.csv.reason.txt").read_text()
    told = {row.origin: (row.row, row.reason) for row in store.quarantined()}
    assert told == {origin: (None, reason) for origin, reason in report.errors.items()}
    again = take_in(store, inbox, Defaults())
    assert (again.files, again.errors) == ({}, {})


def test_a_file_that_is_being_written_is_left_until_its_writer_is_done(store, inbox):
    with (inbox / "week.jsonl").open("w") as half:
        half.write(GOOD)
        half.flush()
        assert take_in(store, inbox, Defaults()).files == {}
    assert list(take_in(store, inbox, Defaults()).files) == ["inbox/week.jsonl"]


def test_a_file_that_was_just_changed_is_left_where_that_is_asked(store, inbox):
    path = inbox / "week.jsonl"
    path.write_text(GOOD)
    assert take_in(store, inbox, Defaults(), unchanged_seconds=60).files == {}
    before = path.stat().st_mtime - 61
    os.utime(path, (before, before))
    assert list(take_in(store, inbox, Defaults(), unchanged_seconds=60).files) == [
        "inbox/week.jsonl"
    ]


def test_older_files_of_the_same_name_are_kept(store, inbox):
    for text in ("one", "two", "three"):
        (inbox / "week.jsonl").write_text(GOOD.replace("sum", text))
        take_in(store, inbox, Defaults())
    done = sorted(path.name for path in (inbox / "done").iterdir())
    assert done == ["week-2.jsonl", "week-3.jsonl", "week.jsonl"]
    assert len(store.seeds()) == 3


def test_without_an_inbox_there_is_nothing_to_do(store, tmp_path):
    assert take_in(store, tmp_path / "none", Defaults()).files == {}
