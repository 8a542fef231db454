import numpy as np
import pytest


@pytest.fixture
def spoken(workspace, voice) -> str:
    (workspace / "input/voice.flac").write_bytes(voice)
    return "input/voice.flac"


def test_most_words_of_a_clear_voice_are_heard(run, spoken):
    head, line = run("SpeechToText", audio=spoken).text.splitlines()
    assert head.startswith("input/voice.flac, 0.00 to 3.29 s of 3.29 s, as PocketSphinx heard it")
    times, words = line.split(": ")
    assert times.endswith(" s")
    said = ["he", "might", "even", "have", "been", "made", "amiable", "himself"]
    assert len(set(said) & set(words.split())) >= 6


def test_times_count_from_the_beginning_of_the_file(run, spoken, workspace, put):
    import soundfile as sf

    samples, rate = sf.read(workspace / spoken)
    path = put(np.concatenate([np.zeros(10 * rate), samples]), "late.wav", rate)
    text = run("SpeechToText", audio=path, start_time=9.5).text
    begin = float(text.splitlines()[1].split(" to ")[0])
    assert 9.5 <= begin < 11.5
    assert "amiable" in text


def test_no_speech_is_said_to_be_none(run, put, tone):
    assert "no English speech was recognised" in run("SpeechToText", audio=put(tone(0, 2.0))).text
    assert "no English speech was recognised" in run("SpeechToText", audio=put(tone(0, 0.1))).text


def test_long_recordings_are_asked_for_in_parts(refused, put):
    path = put(np.zeros(200 * 8_000, np.float32), rate=8_000)
    text = refused("SpeechToText", audio=path, start_time=50)
    assert "at most 90 s are transcribed in one call" in text
    assert "start_time=50, end_time=140" in text
