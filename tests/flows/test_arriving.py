"""The look into the inbox of a served installation: every file once, and only when it is whole."""

import os

import pytest

from flows.banks.arriving import UNCHANGED_SECONDS, InboxLook


@pytest.fixture
def inbox(tmp_path):
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


def whole(look, now):
    return [path.name for path in look.arrived(now)]


def test_a_file_has_arrived_once_it_is_unchanged_for_a_while(inbox):
    look = InboxLook(inbox)
    (inbox / "a.csv").write_text("text\n")
    assert whole(look, 0) == []
    (inbox / "a.csv").write_text("text\nmore\n")
    assert whole(look, UNCHANGED_SECONDS) == [], "it has changed since"
    assert whole(look, 2 * UNCHANGED_SECONDS - 0.1) == []
    assert whole(look, 2 * UNCHANGED_SECONDS) == ["a.csv"]


def test_a_file_that_its_writer_still_has_open_has_not_arrived(inbox):
    look = InboxLook(inbox)
    with (inbox / "a.csv").open("w") as half:
        half.write("text\nhal")
        half.flush()
        assert whole(look, 0) == whole(look, 1000) == []
        half.write("f\n")
    assert whole(look, 1001) == []
    assert whole(look, 1001 + UNCHANGED_SECONDS) == ["a.csv"]


def test_a_file_is_announced_once_and_again_where_it_changes_or_lies_there_for_hours(inbox):
    look = InboxLook(inbox)
    path = inbox / "a.csv"
    path.write_text("text\n")
    look.arrived(0)
    found = look.arrived(10)
    assert whole(look, 11) == ["a.csv"], "nobody has been told yet"
    look.told(found, 11)
    assert whole(look, 12) == []
    path.write_text("text\nmore\n")
    assert whole(look, 13) == []
    look.told(look.arrived(20), 20)
    assert whole(look, 3000) == []
    assert whole(look, 4000) == ["a.csv"]


def test_what_is_no_seed_file_does_not_arrive(inbox):
    look = InboxLook(inbox)
    (inbox / "notes.txt").write_text("text\n")
    (inbox / "done").mkdir()
    (inbox / "done" / "a.csv").write_text("text\n")
    os.mkfifo(inbox / "pipe.csv")
    assert whole(look, 0) == whole(look, 100) == []
