"""Replies about text in pictures are as untrusted as the pictures."""

import json

import pytest

from environments.ports import Completed
from environments.renderers.lettering.formats import MAX_TEXT_CHARACTERS
from environments.renderers.lettering.read import ReadText, read_reply
from taskdata.errors import SandboxFailed


def reply(texts: object, reason: object = "", **more) -> Completed:
    line = json.dumps({"texts": texts, "reason": reason}).encode()
    return Completed(0, b"ready\n" + line + b"\n", b"", 1.0, **more)


def test_texts_are_cut_and_cleaned_and_no_more_than_there_are_pictures():
    found = read_reply(reply(["a\0\ud800", "y" * (MAX_TEXT_CHARACTERS + 1), "more"]), 2)
    assert found.texts[0] == "a?"
    assert [len(text) for text in found.texts] == [2, MAX_TEXT_CHARACTERS]


@pytest.mark.parametrize("texts", [7, [7], [["a"]], None])
def test_what_is_no_text_is_refused(texts):
    assert read_reply(reply(texts), 1) == ReadText(reason="reading them gave no valid text")


def test_without_the_recogniser_it_says_so():
    assert read_reply(reply([], "no reader"), 1).needs_reader


def test_beyond_the_limits_there_is_a_reason():
    found = read_reply(Completed(-9, b"ready\n", b"", 1.0, limit="memory"), 1)
    assert found.reason == "they could not be read within the limits: memory"


def test_a_worker_that_never_got_ready_is_our_fault():
    with pytest.raises(SandboxFailed, match="cv2"):
        read_reply(Completed(1, b"", b"No module named 'cv2'", 1.0), 1)
