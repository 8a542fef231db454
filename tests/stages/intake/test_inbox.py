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


def test_a_file_that_cannot_be_read_stays_and_is_told(store, inbox):
    (inbox / "broken.yaml").write_text('- text: "cut o')
    (inbox / "gone.csv").symlink_to(inbox / "nowhere.csv")
    (inbox / "good.jsonl").write_text(GOOD)
    report = take_in(store, inbox, Defaults())
    assert set(report.errors) == {"inbox/broken.yaml", "inbox/gone.csv"}
    assert list(report.files) == ["inbox/good.jsonl"]
    assert (inbox / "broken.yaml").exists()


def test_older_files_of_the_same_name_are_kept(store, inbox):
    for text in ("one", "two", "three"):
        (inbox / "week.jsonl").write_text(GOOD.replace("sum", text))
        take_in(store, inbox, Defaults())
    done = sorted(path.name for path in (inbox / "done").iterdir())
    assert done == ["week-2.jsonl", "week-3.jsonl", "week.jsonl"]
    assert len(store.seeds()) == 3


def test_without_an_inbox_there_is_nothing_to_do(store, tmp_path):
    assert take_in(store, tmp_path / "none", Defaults()).files == {}
