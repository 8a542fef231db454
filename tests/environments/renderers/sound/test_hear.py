"""Replies about a recording are as untrusted as the recording."""

import base64
import json

import pytest

from environments.ports import Completed
from environments.renderers.sound.formats import MAX_CLIP_BYTES, MAX_TRANSCRIPT_CHARACTERS
from environments.renderers.sound.hear import HeardSound, read_reply
from taskdata.errors import SandboxFailed

WAV = b"RIFF\x24\0\0\0WAVEfmt "


def reply(text: object = "", clip: object = None, reason: object = "", **more) -> Completed:
    line = json.dumps({"text": text, "clip": clip, "reason": reason}).encode()
    return Completed(0, b"ready\n" + line + b"\n", b"", 1.0, **more)


def test_a_transcript_with_its_clip():
    found = read_reply(reply("0.0 to 1.0 s: Hi", base64.b64encode(WAV).decode()))
    assert found == HeardSound("0.0 to 1.0 s: Hi", WAV)


def test_a_long_transcript_is_cut_and_cleaned():
    found = read_reply(reply("x\0\ud800" + "y" * MAX_TRANSCRIPT_CHARACTERS))
    assert found.text.startswith("x?y")
    assert len(found.text) == MAX_TRANSCRIPT_CHARACTERS


@pytest.mark.parametrize("clip", ["%%", 7, base64.b64encode(b"ID3" + bytes(20)).decode()])
def test_what_is_no_recording_is_no_clip(clip):
    assert read_reply(reply("Hi", clip)).reason == "listening to it gave no valid transcript"


def test_a_clip_beyond_the_limit_is_refused():
    huge = base64.b64encode(WAV + bytes(MAX_CLIP_BYTES)).decode()
    assert read_reply(reply("Hi", huge)).clip is None


def test_without_the_recogniser_the_clip_is_left():
    found = read_reply(reply("", base64.b64encode(WAV).decode(), "no recogniser"))
    assert (found.clip, found.needs_recogniser) == (WAV, True)
    assert "no speech recogniser is installed" in found.reason


def test_beyond_the_limits_there_is_a_reason():
    found = read_reply(Completed(-9, b"ready\n", b"", 1.0, limit="memory"))
    assert found.reason == "it could not be listened to within the limits: memory"


def test_a_worker_that_never_got_ready_is_our_fault():
    with pytest.raises(SandboxFailed, match="faster_whisper"):
        read_reply(Completed(1, b"", b"No module named 'faster_whisper'", 1.0))
