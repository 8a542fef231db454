import numpy as np
import pytest

from taskdata.schema.tool import ToolErrorKind


@pytest.fixture
def three_tones(tone, put) -> str:
    return put(np.concatenate([tone(hertz, 1.0) for hertz in (300, 600, 900)]))


def test_the_clip_holds_the_asked_part_to_the_sample(written, three_tones, heard, loudest_hertz):
    result = written(
        "AudioClipTool", audio=three_tones, start_time=1.0, end_time="0:02", path="output/b.wav"
    )
    assert result.text == (
        "Wrote output/b.wav: 1.00 s, from 1.00 to 2.00 s of the 3.00 s of input/a.wav."
    )
    samples, rate = heard("output/b.wav")
    assert samples.size == rate == 22_050
    assert loudest_hertz(samples, rate) == pytest.approx(600, abs=1)


@pytest.mark.parametrize("ending", ["mp3", "flac", "ogg"])
def test_the_ending_decides_the_format(written, run, three_tones, heard, loudest_hertz, ending):
    path = f"output/b.{ending}"
    written("AudioClipTool", audio=three_tones, start_time=2, path=path)
    samples, rate = heard(path)
    assert samples.size / rate == pytest.approx(1.0, abs=0.06)
    assert loudest_hertz(samples, rate) == pytest.approx(900, abs=2)
    again = run("AudioClipTool", audio=path, end_time=0.5)
    assert again.files == (f"output/b_clip.{ending}",)


def test_m4a_is_written_and_read_again(written, run, three_tones):
    written("AudioClipTool", audio=three_tones, path="output/b.m4a")
    assert "aac" in run("SoundCharacteristicExtraction", audio="output/b.m4a").text.splitlines()[0]


def test_fades_go_from_silence_to_silence(written, tone, put, heard):
    path = put(tone(440, 2.0))
    result = written("AudioClipTool", audio=path, fade_in=0.5, fade_out=0.5, path="output/f.wav")
    assert result.text.endswith("0.5 s of fade in, 0.5 s of fade out.")
    samples, _ = heard("output/f.wav")
    peaks = np.abs(samples).reshape(20, -1).max(axis=1)
    assert np.all(np.diff(peaks[:5]) > 0)
    assert np.all(np.diff(peaks[-5:]) < 0)
    assert peaks[5:15] == pytest.approx(0.3, abs=0.01)


def test_a_clip_may_replace_its_source(written, run, three_tones, heard):
    written("AudioClipTool", audio=three_tones, path="output/b.wav")
    written("AudioClipTool", audio="output/b.wav", end_time=0.5, path="output/b.wav")
    assert heard("output/b.wav")[0].size == 22_050 // 2


def test_what_cannot_be_cut_is_refused(refused, run, three_tones):
    assert "lasts 3.00 s" in refused("AudioClipTool", audio=three_tones, start_time=3)
    assert "must be after" in refused("AudioClipTool", audio=three_tones, start_time=2, end_time=1)
    faded = refused("AudioClipTool", audio=three_tones, fade_in=2, fade_out=2)
    assert "fade_in and fade_out take 4.00 s together, but the clip lasts 3.00 s" in faded
    assert "only files below output/" in refused(
        "AudioClipTool", audio=three_tones, path="input/b.wav"
    )
    assert ".wav or .mp3" in refused("AudioClipTool", audio=three_tones, path="output/b.exe")
    wrong = run("AudioClipTool", audio=three_tones, start_time="soon")
    assert wrong.error is ToolErrorKind.BAD_ARGUMENTS
    assert "start_time: should be a valid number" in wrong.text


def test_a_broken_file_leaves_nothing_behind(refused, workspace):
    (workspace / "input/a.mp3").write_bytes(b"not a sound" * 100)
    assert "cannot be read as sound" in refused(
        "AudioClipTool", audio="input/a.mp3", path="output/b.mp3"
    )
    assert list((workspace / "output").iterdir()) == []
